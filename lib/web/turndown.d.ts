/** The build of turndown without a parser has the types of the other one. */
declare module 'turndown/lib/turndown.browser.cjs.js' {
  export { default } from 'turndown'
}
