declare module 'turndown/lib/turndown.browser.cjs.js' {
  export { default } from 'turndown'
}
