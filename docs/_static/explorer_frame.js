"use strict";
// The live figure has the theme of the page around it, and is as high as its content.
document.addEventListener("DOMContentLoaded", () => {
  const frame = document.querySelector("iframe.explorer");
  if (!frame) return;
  const root = document.documentElement;
  const sendTheme = () => frame.contentWindow.postMessage({ theme: root.dataset.theme === "dark" ? "dark" : "light" }, "*");
  frame.addEventListener("load", sendTheme);
  new MutationObserver(sendTheme).observe(root, { attributes: true, attributeFilter: ["data-theme"] });
  addEventListener("message", ({ source, data }) => {
    if (source === frame.contentWindow && data.height > 0) frame.style.height = `${Math.ceil(data.height)}px`;
  });
  sendTheme();
});
