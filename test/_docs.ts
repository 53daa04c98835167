/** README and docs/ as the test reads them: fenced blocks, words of code, links, headings, shell commands. */
import { globSync, readFileSync } from 'node:fs'
import { marked, type Token, type Tokens } from 'marked'

/** `reason`: why nothing of the block is tried, from its first line: ```` ```sh no-test: needs a Mac ````. */
export type Block = { page: string; lang: string; reason: string | null; text: string }
export type Page = {
  path: string
  text: string
  blocks: Block[]
  /** Words of code in the text. */
  words: string[]
  /** Texts in italics: on pages about the page of the service, these are its own. */
  italics: string[]
  links: string[]
  anchors: Set<string>
}

const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

const readPage = (path: string): Page => {
  const text = readFileSync(path, 'utf8')
  const page: Page = {
    path,
    text,
    blocks: [],
    words: [],
    italics: [],
    links: [],
    anchors: new Set(),
  }
  const add = (token: Token): void => {
    if (token.type === 'code') {
      const { lang = '', text: code } = token as Tokens.Code
      const [name = '', reason = null] = lang.split(' no-test: ')
      page.blocks.push({ page: path, lang: name, reason, text: code })
    }
    if (token.type === 'codespan') page.words.push((token as Tokens.Codespan).text)
    if (token.type === 'em') page.italics.push((token as Tokens.Em).text)
    if (token.type === 'link' || token.type === 'image')
      page.links.push((token as Tokens.Link).href)
    if (token.type === 'heading') page.anchors.add(slugOf((token as Tokens.Heading).text))
  }
  marked.walkTokens(marked.lexer(text), add)
  return page
}

/** Those of people who use the program, and of those who change it. */
export const pages: readonly Page[] = globSync([
  'README.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
  'ARCHITECTURE.md',
  'docs/**/*.md',
  '{lib,handlers,public}/**/README.md',
])
  .toSorted()
  .map(readPage)

/** Words of a shell line: quotes are removed, a comment and what follows it is left out. */
const shellWords = (line: string): string[] =>
  [...line.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)]
    .map(([word]) => word)
    .reduce<{ words: string[]; isOver: boolean }>(
      ({ words, isOver }, word) =>
        isOver || word.startsWith('#')
          ? { words, isOver: true }
          : { words: [...words, word.replace(/["']/g, '')], isOver },
      { words: [], isOver: false },
    )
    .words.filter(word => word !== '…')

/** `program` is empty where a line only sets variables. */
export type Command = { env: Record<string, string>; program: string; args: string[]; line: string }

/** The commands of a block, one for each program that it starts. */
export const commandsOf = (text: string): Command[] =>
  text
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .flatMap(line => {
      const words = shellWords(line.replace(/^export /, '').replace(/\$\([^)]*\)/g, '$(…)'))
      const groups: string[][] = [[]]
      for (const word of words) {
        if (word === '&&') groups.push([])
        else groups.at(-1)?.push(word)
      }
      return groups.flatMap(group => {
        const at = group.findIndex(word => !/^[A-Z][A-Z0-9_]*=/.test(word))
        const given = at < 0 ? group : group.slice(0, at)
        const env = Object.fromEntries(
          given.map(word => [word.split('=')[0] ?? '', word.slice(word.indexOf('=') + 1)]),
        )
        const [program = '', ...args] = at < 0 ? [] : group.slice(at)
        return group.length === 0 ? [] : [{ env, program, args, line }]
      })
    })

/** The value of a constant or property, from its source: `30 * 86_400_000`, or `STALE_MS * 2.5` with a constant of the same file. */
export const constantOf = (path: string, name: string): number => {
  const factor = '(?:[\\d_]+(?:\\.\\d+)?|[A-Z_]+)'
  const [, text] =
    new RegExp(`\\b${name}(?: =|:) (${factor}(?: \\* ${factor})*)\\b`).exec(
      readFileSync(path, 'utf8'),
    ) ?? []
  if (text === undefined) throw new Error(`${path} has no constant ${name}`)
  const factorOf = (each: string) =>
    /^\d/.test(each) ? Number(each.replaceAll('_', '')) : constantOf(path, each)
  return text.split(' * ').reduce((value, each) => value * factorOf(each), 1)
}
