import { defineConfig, loadEnv } from "vite";

/** Where `npm run dev` finds a server: a running throng, or the mock of `npm run dev:mock`. */
const server = loadEnv("", ".", "THRONG_")["THRONG_URL"] ?? "http://127.0.0.1:9000";

export default defineConfig({
  // Relative addresses let the page live behind a proxy that adds a path.
  base: "./",
  build: {
    target: "es2022",
    // The server's content security policy allows files of its own origin only: nothing may be inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // What everybody sees, and what the operator does, at another address.
    rollupOptions: { input: ["index.html", "worlds.html"] },
  },
  server: {
    host: "127.0.0.1",
    proxy: {
      "/live": { target: server, ws: true },
      "/regions": { target: server },
      "/api": { target: server },
      "/v1": { target: server },
    },
  },
});
