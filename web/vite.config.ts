import { defineConfig, type Plugin } from "vite";

/** Formulas' fonts in one format: every browser that runs this page reads woff2. */
const oneFontFormat: Plugin = {
  name: "one-font-format",
  enforce: "pre",
  transform(code, id) {
    if (!id.endsWith("katex.min.css")) return null;
    return code.replace(/,url\([^)]*\.(?:woff|ttf)\) format\("(?:woff|truetype)"\)/g, "");
  },
};

// The built page goes into the package; nothing of it is inline, so that a strict policy for content can hold.
export default defineConfig({
  base: "./",
  plugins: [oneFontFormat],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../halftrek/web/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1200,
    target: "es2022",
  },
  server: { proxy: { "/api": "http://127.0.0.1:8717" } },
});
