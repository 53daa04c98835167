/** Finds what no source names: classes of style sheets, text of catalogs, and exports. A name that is put together from parts counts when each part is named. */
import { codeOf, type Source } from './_rules.ts'

const PRODUCT = /^(?:router\.ts$|(?:lib|handlers|public)\/)/
const CATALOG = /(?:^|[/-])strings\.ts$|^public\/strings\/en\//
const isScript = (path: string): boolean => /\.(?:tsx?|mjs|html)$/.test(path)

/** Words of the code, without the properties that it reads: `.head` is no use of the class `head`. */
const wordsOf = (code: string): string[] => code.match(/(?<![.\w-])[A-Za-z][\w-]*/g) ?? []

/** The fixed parts of names such as `term-c${color}` or `rules.${list}.hint`. */
const composedNames = (code: string): string[][] =>
  [...code.matchAll(/(?<=[\s"'`])((?:[\w.-]*\$\{[^{}]*\})+[\w.-]*)(?=[\s"'`])/g)].flatMap(
    ([, name = '']) => {
      const parts = name.split(/\$\{[^{}]*\}/)
      return parts.some(part => /[a-z]/i.test(part)) ? [parts] : []
    },
  )

type Named = { words: Set<string>; composed: RegExp[] }

const escaped = (text: string): string => text.replace(/[.]/g, '\\$&')

const namedBy = (codes: readonly string[]): Named => {
  const words = new Set<string>()
  const composed = new Map<string, RegExp>()
  for (const code of codes) {
    for (const word of wordsOf(code)) words.add(word)
    for (const [, key = ''] of code.matchAll(/["'`]([\w.-]+)["'`]/g)) words.add(key)
    for (const parts of composedNames(code)) {
      const pattern = `^${parts.map(escaped).join('([\\w.-]+)')}$`
      composed.set(pattern, new RegExp(pattern))
    }
  }
  return { words, composed: [...composed.values()] }
}

const isNamed = (name: string, { words, composed }: Named): boolean =>
  words.has(name) ||
  composed.some(pattern => {
    const filled = pattern.exec(name)?.slice(1)
    return filled?.every(part => /^\d+$/.test(part) || words.has(part)) ?? false
  })

const classesOf = (css: string): Set<string> => {
  const selectors = css.replace(/\/\*[\s\S]*?\*\//g, '').match(/[^{};]+(?=\{)/g) ?? []
  return new Set(selectors.join(' ').match(/(?<=\.)[A-Za-z][\w-]*/g))
}

/** Packages whose style sheet this one imports and changes, by the name that their classes begin with. */
const importedBy = (css: string): string[] =>
  [...css.matchAll(/@import "(?:@[\w-]+\/)?([\w-]+)\//g)].map(([, name = '']) => name)

/** `path: .name` for each class of a style sheet that no code of the page names. */
export const unusedClasses = (sources: readonly Source[]): string[] => {
  const code = sources.filter(({ path }) => /^(?:public|lib\/base)\//.test(path) && isScript(path))
  const named = namedBy(code.filter(({ path }) => !CATALOG.test(path)).map(codeOf))
  return sources
    .filter(({ path }) => path.startsWith('public/') && path.endsWith('.css'))
    .flatMap(({ path, text }) =>
      [...classesOf(text)]
        .filter(name => !isNamed(name, named) && !importedBy(text).includes(name.split('-')[0]!))
        .map(name => `${path}: .${name}`),
    )
}

/** An entry of a catalog. */
const ENTRY = /^ {2}["']?([\w.-]+)["']?:/gm

/** `path: key` for each text that no code names; values of composed keys also come from the server. */
export const unusedText = (sources: readonly Source[]): string[] => {
  const code = sources.filter(({ path }) => PRODUCT.test(path) && isScript(path))
  const named = namedBy(
    // The name of an entry is no use of it.
    code.map(source =>
      CATALOG.test(source.path) ? codeOf(source).replace(ENTRY, '') : codeOf(source),
    ),
  )
  return sources
    .filter(({ path }) => path.startsWith('public/') && CATALOG.test(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(ENTRY)]
        .map(([, key = '']) => key)
        .filter(key => !isNamed(key, named))
        .map(key => `${path}: ${key}`),
    )
}

/** Types stay: an import of a type counts as well. */
const COMMENT = /\/\*[\s\S]*?\*\/|\/\/ .*$/gm

/** `path: name` for each exported value that no other file names. Types and schemas are exported for their readers. */
export const unusedExports = (sources: readonly Source[]): string[] => {
  const files = new Map<string, number>()
  for (const { text } of sources.filter(({ path }) => isScript(path)))
    for (const word of new Set(text.replace(COMMENT, '').match(/[A-Za-z_$][\w$]*/g)))
      files.set(word, (files.get(word) ?? 0) + 1)
  return sources
    .filter(({ path }) => PRODUCT.test(path) && isScript(path) && !path.startsWith('lib/schema/'))
    .flatMap(source =>
      [...source.text.matchAll(/^export (?:async )?(?:const|function\*?|class) ([\w$]+)/gm)]
        .filter(([, name = '']) => (files.get(name) ?? 0) < 2)
        .map(([, name]) => `${source.path}: ${name}`),
    )
}
