/** The word list: words of metaphor and personification that comments, identifiers and test titles must not use. */
import type { Rule, Source } from './_rules.ts'

/** Folders that are checked, as patterns; the others still have findings. */
const CLEAN_FOLDERS = [
  'bench/',
  'build/',
  'handlers/',
  'lib/agent/(?![^/]*/)',
  'lib/agent/code/',
  'lib/agent/providers/',
  'lib/app/',
  'lib/base/',
  'lib/checkpoints/',
  'lib/cli/',
  'lib/guards/',
  'lib/host-db/',
  'lib/http/',
  'lib/mcp/',
  'lib/memory/',
  'lib/models/credential-pool/',
  'lib/own-processes/',
  'lib/profiles/',
  'lib/schema/',
  'lib/sessions/',
  'lib/skills/',
  'lib/store/',
  'lib/turn-context/',
  'lib/turns/',
  'lib/updates/',
  'lib/workspaces/',
  'public/(?!features/(?:composer|models|workspace)/)',
  'test/browser/',
  'test/lib/agent/(?![^/]*/)',
  'test/lib/agent/providers/',
  'test/lib/base/',
  'test/lib/checkpoints/',
  'test/lib/cron/',
  'test/lib/host-db/',
  'test/lib/models/',
  'test/lib/profiles/',
  'test/lib/redact/',
  'test/lib/skills/',
  'test/lib/updates/',
  'test/lib/auth/',
  'test/lib/cli/',
  'test/lib/http/',
  'test/lib/mcp/',
  'test/lib/memory/',
  'test/lib/store/',
  'test/lib/web/',
  'test/lib/workspaces/',
  'test/public/stream/',
]

/** In identifiers, comments and test titles. */
const WORDS = new Set(
  'nobody somebody whoever anew meanwhile heard buried undie scour keepsake depot silhouette room rooms house told'.split(
    ' ',
  ),
)
/** In comments and test titles. */
const PHRASES = /\b(?:stands?(?! for\b)|lies|goes on|as it is now)\b/gi

/** Files that mean such a word literally: its words, separated by spaces. */
const LITERAL: Readonly<Record<string, string>> = {
  'lib/workspaces/upload.ts': 'room',
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
  return [...new Set([...words.filter(word => WORDS.has(word)), ...phrases])].filter(
    word => !literal.includes(word),
  )
}

export const wordRule: Rule = {
  name: 'comments, identifiers and test titles use plain words',
  where: new RegExp(`^(?:${CLEAN_FOLDERS.join('|')}).*\\.(?:ts|tsx|mjs|css)$`),
  find,
  bad: [
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
