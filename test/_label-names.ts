/** Buttons and links that have both a text and a name for assistive technology (`aria-label`), as keys of messages. */
import { transformSync } from 'esbuild'

export type LabelPair = { label: string; text: string }

/** The expression that begins at `start`: up to the comma or bracket after it, brackets and commas in strings not counted. */
const expressionAt = (code: string, start: number): string => {
  let depth = 0
  for (let i = start; i < code.length; i += 1) {
    const char = code[i]!
    if (/["'`]/.test(char)) i = code.indexOf(char, i + 1)
    else if (/[([{]/.test(char)) depth += 1
    else if (/[)\]}]/.test(char)) depth -= 1
    if (i < 0 || depth < 0 || (depth === 0 && char === ',')) return code.slice(start, i)
  }
  return code.slice(start)
}

/** The properties of an object literal whose first one begins at `start`. */
const propertiesAt = (code: string, start: number): Record<string, string> => {
  const found: Record<string, string> = {}
  let at = start
  do {
    const text = expressionAt(code, at)
    const [, name, value = ''] = /^"?([\w-]+)"?:([\s\S]*)$/.exec(text) ?? []
    if (name !== undefined) found[name] = value
    at += text.length + 1
  } while (code[at - 1] === ',')
  return found
}

/** Keys of the messages in an expression; of a key that is put together, all that it may be. */
const keysIn = (code: string, known: readonly string[]): string[] =>
  [...code.matchAll(/\bt\(/g)].flatMap(({ index }) => {
    const key = expressionAt(code, index + 2)
    const composed = /^`([^`]*)`$/.exec(key)?.[1]
    if (composed === undefined) return [...key.matchAll(/"([\w.-]+)"/g)].map(([, text]) => text!)
    const parts = composed.split(/\$\{[^}]*\}/).map(part => part.replace(/\./g, '\\.'))
    const pattern = new RegExp(`^${parts.join('[\\w-]+')}$`)
    return known.filter(each => pattern.test(each))
  })

/** `source`: a module with JSX. `known`: the keys of all messages. */
export const labelPairs = (source: string, known: readonly string[]): LabelPair[] => {
  const { code } = transformSync(source, {
    loader: 'tsx',
    jsx: 'automatic',
    minifyWhitespace: true,
  })
  return [...code.matchAll(/\bjsxs?\((?:\w*Button|\w*Link|"button"|"a"|"summary"),\{/g)].flatMap(
    ({ index, 0: { length } }) => {
      const { 'aria-label': label = '', children = '' } = propertiesAt(code, index + length)
      return keysIn(label, known).flatMap(name =>
        keysIn(children, known).map(text => ({ label: name, text })),
      )
    },
  )
}
