/** The theme `system` in light mode: copies of the rules of the light theme, because CSS cannot reuse another rule's values. */
import { readFileSync } from 'node:fs'

const LIGHT = /:is\(\[data-theme="light"\][^)]*\)|\[data-theme="light"\]/
const RULE = /[^{}]*\[data-theme="light"\][^{}]*\{[^{}]*\}/g

/** A style sheet of a theme, followed by its light rules for `system` where the system is light. */
export const withSystemTheme = css => {
  const rules = css.replace(/\/\*[\s\S]*?\*\//g, '').match(RULE) ?? []
  const copies = rules.map(rule => rule.replace(LIGHT, '[data-theme="system"]'))
  return `${css}\n@media (prefers-color-scheme: light) {${copies.join('')}\n}\n`
}

export const systemTheme = {
  name: 'system-theme',
  setup: build =>
    build.onLoad(
      { filter: /public[/\\]style[/\\](?:tokens|themes[/\\](?:light|accents))\.css$/ },
      ({ path }) => ({
        contents: withSystemTheme(readFileSync(path, 'utf8')),
        loader: 'css',
      }),
    ),
}
