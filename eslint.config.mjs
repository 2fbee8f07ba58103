// Rules for the JavaScript of the report and the explorer; `make lint` runs them (tools/lint_js.sh).
const browser = [
  "AbortController", "Blob", "CustomEvent", "Event", "Image", "MutationObserver", "PAGE", "Response", "URL", "URLSearchParams", "XMLSerializer", "clearInterval", "clearTimeout",
  "crypto", "document", "fetch", "getComputedStyle", "history", "location", "performance", "setInterval", "setTimeout", "window",
];

export default [
  {
    files: ["src/quorate/**/web/*.js"],
    languageOptions: { ecmaVersion: 2022, sourceType: "module", globals: Object.fromEntries(browser.map((name) => [name, "readonly"])) },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "array-callback-return": "error", "consistent-return": "off", "eqeqeq": "error", "no-const-assign": "error", "no-dupe-args": "error",
      "no-dupe-keys": "error", "no-duplicate-imports": "error", "no-empty": "error", "no-eval": "error", "no-fallthrough": "error",
      "no-implied-eval": "error", "no-redeclare": "error", "no-self-compare": "error", "no-shadow": "error", "no-undef": "error",
      "no-unreachable": "error", "no-unused-expressions": "error", "no-unused-vars": "error", "no-use-before-define": ["error", { functions: false, variables: false }],
      "no-var": "error", "prefer-const": "error", "semi": "error", "valid-typeof": "error",
    },
  },
];
