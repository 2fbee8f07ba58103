"""Metadata of the packaged datasets; the values are in `data/`."""

from typing import NamedTuple

LICENSE = "CC BY 4.0, from the UCI Machine Learning Repository (archive.ics.uci.edu); please cite the source."


class Entry(NamedTuple):
    """A dataset's columns, description and source."""

    feature_names: tuple[str, ...]
    description: str
    citation: str


CATALOG = {
    "breast_cancer": Entry(
        (
            "clump_thickness",
            "cell_size_uniformity",
            "cell_shape_uniformity",
            "marginal_adhesion",
            "epithelial_cell_size",
            "bare_nuclei",
            "bland_chromatin",
            "normal_nucleoli",
            "mitoses",
        ),
        "683 fine-needle aspirates of breast tumors, nine features graded 1 to 10; class 2 is benign, 4 malignant. "
        "Without the 16 incomplete records of the source.",
        "W. H. Wolberg, O. L. Mangasarian. Multisurface method of pattern separation for medical diagnosis applied to "
        "breast cytology. PNAS 87 (1990) 9193-9196. UCI: Breast Cancer Wisconsin (Original), doi 10.24432/C5HP4Z.",
    ),
    "image_segmentation": Entry(
        (
            "region_centroid_col",
            "region_centroid_row",
            "region_pixel_count",
            "short_line_density_5",
            "short_line_density_2",
            "vedge_mean",
            "vedge_sd",
            "hedge_mean",
            "hedge_sd",
            "intensity_mean",
            "rawred_mean",
            "rawblue_mean",
            "rawgreen_mean",
            "exred_mean",
            "exblue_mean",
            "exgreen_mean",
            "value_mean",
            "saturation_mean",
            "hue_mean",
        ),
        "2310 regions of 3 x 3 pixels from seven outdoor images, 330 of each of seven surfaces. "
        "region_pixel_count is 9 throughout.",
        "C. Brodley, Vision Group, University of Massachusetts, 1990. UCI: Image Segmentation, doi 10.24432/C5GP4N.",
    ),
    "iris": Entry(
        ("sepal_length", "sepal_width", "petal_length", "petal_width"),
        "150 iris flowers, 50 of each of three species, in cm. The version of the UCI repository, in which two setosa "
        "rows differ from Fisher's table.",
        "R. A. Fisher. The use of multiple measurements in taxonomic problems. Annals of Eugenics 7 (1936) 179-188. "
        "UCI: Iris, doi 10.24432/C56C76.",
    ),
    "seeds": Entry(
        ("area", "perimeter", "compactness", "kernel_length", "kernel_width", "asymmetry", "groove_length"),
        "210 wheat kernels measured on X-ray images, 70 of each variety: 1 Kama, 2 Rosa, 3 Canadian.",
        "M. Charytanowicz, J. Niewczas, P. Kulczycki, P. A. Kowalski, S. Lukasik, S. Zak. A complete gradient "
        "clustering algorithm for features analysis of X-ray images. Information Technologies in Biomedicine, Springer "
        "2010, 15-24. UCI: Seeds, doi 10.24432/C5H30K.",
    ),
    "yeast": Entry(
        ("mcg", "gvh", "alm", "mit", "erl", "pox", "vac", "nuc"),
        "1484 proteins of yeast, eight scores of their sequences, and the place in the cell where each is found.",
        "P. Horton, K. Nakai. A probabilistic classification system for predicting the cellular localization sites of "
        "proteins. ISMB 4 (1996) 109-115. UCI: Yeast, doi 10.24432/C5KG68.",
    ),
    "wine": Entry(
        (
            "alcohol",
            "malic_acid",
            "ash",
            "alcalinity_of_ash",
            "magnesium",
            "total_phenols",
            "flavanoids",
            "nonflavanoid_phenols",
            "proanthocyanins",
            "color_intensity",
            "hue",
            "od280_od315",
            "proline",
        ),
        "178 wines of one region of Italy from three cultivars, by chemical analysis.",
        "S. Aeberhard, M. Forina, 1991. UCI: Wine, doi 10.24432/C5PC7J.",
    ),
    "pen_digits": Entry(
        tuple(f"{axis}{point}" for point in range(1, 9) for axis in "xy"),
        "10992 handwritten digits, each as eight points along the pen stroke.",
        "E. Alpaydin, F. Alimoglu. Pen-Based Recognition of Handwritten Digits, 1996. UCI doi 10.24432/C5MG6K.",
    ),
    "letters": Entry(
        (
            "x_box",
            "y_box",
            "width",
            "high",
            "onpix",
            "x_bar",
            "y_bar",
            "x2bar",
            "y2bar",
            "xybar",
            "x2ybr",
            "xy2br",
            "x_ege",
            "xegvy",
            "y_ege",
            "yegvx",
        ),
        "20000 distorted capital letters of twenty fonts, sixteen moments and edge counts of the image, 0 to 15.",
        "P. W. Frey, D. J. Slate. Letter recognition using Holland-style adaptive classifiers. Machine Learning 6 "
        "(1991) 161-182. UCI: Letter Recognition, doi 10.24432/C5ZP40.",
    ),
}

NAMES = tuple(CATALOG)
