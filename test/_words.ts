/** The word list: words of metaphor and personification that comments, identifiers and test titles must not use. */
import type { Rule, Source } from './_rules.ts'

/** In identifiers, comments and test titles. */
const WORDS = new Set(
  'nobody somebody whoever anew meanwhile heard buried undie scour keepsake depot silhouette room rooms house told'.split(
    ' ',
  ),
)
/** British spellings, in identifiers, comments and test titles. */
const BRITISH =
  /^(?:colours?|behaviours?|catalogues?|licences?|judgements?|neighbours?|favourites?|greys?|(?:un)?(?:summar|normal|recogn|organ|initial|serial)is\w+)$/i
/** In comments and test titles. */
const PHRASES = /\b(?:stands?(?! for\b)|lies|goes on|as it is now)\b/gi

/** Files that mean such a word literally: its words, separated by spaces. */
const LITERAL: Readonly<Record<string, string>> = {
  'lib/workspaces/upload.ts': 'room',
  'test/handlers/external-agent.test.ts': 'heard',
  'test/lib/agent/acp/memory.test.ts': 'heard',
  'test/public/look.test.ts': 'colour grey',
}

const COMMENT = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm
const TITLE = /^\s*\w+\(\s*(['"`])((?:(?!\1).)*)\1,/gm
const STRING = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g

const proseOf = ({ path, text }: Source): string[] => [
  ...(text.match(COMMENT) ?? []),
  ...(path.startsWith('test/') ? [...text.matchAll(TITLE)].map(match => match[2] ?? '') : []),
]

/** `toHouseName` → to, house, name. */
const identifierWords = (code: string): string[] =>
  (code.replace(STRING, '').match(/[A-Za-z]\w*/g) ?? []).flatMap(name =>
    name.replace(/([a-z0-9])(?=[A-Z])/g, '$1 ').split(/[ _]/),
  )

const find = (source: Source, code: string): string[] => {
  const literal = LITERAL[source.path]?.split(' ') ?? []
  const prose = proseOf(source)
  const words = [
    ...prose.flatMap(text => text.match(/[A-Za-z]+/g) ?? []),
    ...identifierWords(code),
  ].map(word => word.toLowerCase())
  const phrases = prose.flatMap(text => text.match(PHRASES) ?? []).map(found => found.toLowerCase())
  return [
    ...new Set([...words.filter(word => WORDS.has(word) || BRITISH.test(word)), ...phrases]),
  ].filter(word => !literal.includes(word))
}

export const wordRule: Rule = {
  name: 'comments, identifiers and test titles use plain words',
  where:
    /^(?:(?:router|build|setup)\.m?[jt]s$|(?:lib|handlers|public|bench|eval|build|test)\/.*\.(?:ts|tsx|mjs|css)$)/,
  except: { 'test/_words.ts': 'the list' },
  find,
  bad: [
    { path: 'lib/base/a.ts', text: 'export const colourOf = 1' },
    { path: 'lib/base/a.ts', text: '/** For whoever comes late. */' },
    { path: 'lib/base/a.ts', text: 'export const houseRules = 1' },
    { path: 'lib/base/a.ts', text: '// What stands there.\nexport const a = 1' },
    { path: 'test/lib/base/a.test.ts', text: "test('nobody is asked', () => {})" },
  ],
  good: [
    { path: 'lib/base/a.ts', text: "/** Warehouses. */\nexport const a = 'nobody'" },
    { path: 'test/lib/base/a.test.ts', text: "assert.is(read('nobody'), 'x')" },
  ],
}
