/** What no linter finds: names that nothing uses, settings that the search misses, and what pages must not contain. */
import { globSync, readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { SETTING_NAMES } from '../lib/base/setting-defaults.ts'
import { settingOf } from '../lib/base/settings.ts'

const test = suite('structure')

type Source = { path: string; text: string }

const read = (...patterns: string[]): Source[] =>
  globSync(patterns).map(path => ({ path, text: readFileSync(path, 'utf8') }))

const COMMENT = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/ .*$/gm
const without = (pattern: RegExp, sources: readonly Source[]): string =>
  sources.map(({ text }) => text.replace(pattern, '')).join('\n')

/** Whether code names something, also in parts: `term-c${color}` names `term-c12`, and `a.${side}.b` names `a.left.b` where it has `left`. */
const namedBy = (code: string): ((name: string) => boolean) => {
  // `.head` reads a property.
  const words = new Set(code.match(/(?<=["'`])[\w.-]+(?=["'`])|(?<![.\w-])[A-Za-z][\w-]*/g))
  const templates = code.match(/(?<=[\s"'`])(?:[\w.-]*\$\{[^{}]*\})+[\w.-]*(?=[\s"'`])/g) ?? []
  const patterns = [...new Set(templates)]
    .map(template => template.split(/\$\{[^{}]*\}/))
    .filter(parts => parts.some(part => /[a-z]/i.test(part)))
    .map(parts => new RegExp(`^${parts.map(part => RegExp.escape(part)).join('([\\w.-]+)')}$`))
  const isKnown = (part: string) => /^\d+$/.test(part) || words.has(part)
  return name =>
    words.has(name) || patterns.some(pattern => pattern.exec(name)?.slice(1).every(isKnown))
}

/** `path: .name` for each class that the code does not name. */
const unusedClasses = (sheets: readonly Source[], code: string): string[] => {
  const isNamed = namedBy(code)
  return sheets.flatMap(({ path, text }) => {
    // Packages whose sheet this one changes, by the name that their classes begin with.
    const imported = [...text.matchAll(/@import "(?:@[\w-]+\/)?([\w-]+)\//g)].map(
      ([, name]) => name,
    )
    const selectors = text.replace(COMMENT, '').match(/[^{};]+(?=\{)/g) ?? []
    const classes = new Set(selectors.join(' ').match(/(?<=\.)[A-Za-z][\w-]*/g))
    return [...classes]
      .filter(name => !isNamed(name) && !imported.includes(name.split('-')[0]))
      .map(name => `${path}: .${name}`)
  })
}

const ENTRY = /^ {2}["']?([\w.-]+)["']?:/gm

/** `path: key` for each text of a catalog that the code does not name. */
const unusedTexts = (catalogs: readonly Source[], code: string): string[] => {
  // The name of an entry is no use of it.
  const isNamed = namedBy(`${code}\n${without(ENTRY, catalogs)}`)
  return catalogs.flatMap(({ path, text }) =>
    [...text.matchAll(ENTRY)]
      .map(([, key = '']) => key)
      .filter(key => !isNamed(key))
      .map(key => `${path}: ${key}`),
  )
}

const CATALOGS = 'public/**/{strings,*-strings,strings/en/**/*}.ts'
const catalogs = read(CATALOGS)
const page = read('{public,lib/base}/**/*.{ts,tsx,html}')
const server = read('router.ts', '{lib,handlers}/**/*.ts')
/** The texts of the rows of the settings: their table names them in parts. */
const rowTexts = SETTING_NAMES.flatMap(name => {
  const setting = settingOf(name)
  const { section, label = `settings.${name}`, hint } = setting
  if (section === undefined) return []
  // One of its texts names a key of the machine, so its row has a control of its own.
  const choices = setting.type === 'choice' && name !== 'send_key' ? setting.choices : []
  const values = (setting.type === 'choice' ? setting.values : undefined) ?? name
  const hints = hint === false ? [] : [`${label}.hint`]
  return [label, ...hints, ...choices.map(choice => `${values}.${choice}`)]
})
const isCatalog = ({ path }: Source) => catalogs.some(catalog => catalog.path === path)

test('an unused class and an unused text are found', () => {
  const css = '/* .gone */ .row.is-open > .term-c12 { a: b } .head:hover { a: 1.5em }'
  const code = `<p class={b.head ? \`term-c\${color}\` : "row"} />; t(\`a.kind.\${kind}\`); ["left"]`
  assert.equal(unusedClasses([{ path: 'a', text: css }], code), ['a: .is-open', 'a: .head'])
  const text = "const en = {\n  'a.title': 'A',\n  'a.kind.left': 'L',\n  'a.kind.right': 'R',\n}"
  assert.equal(unusedTexts([{ path: 'a', text }], code), ['a: a.title', 'a: a.kind.right'])
})

test('style sheets have only classes that the page names', () => {
  const code = page.filter(source => !isCatalog(source))
  assert.equal(unusedClasses(read('public/**/*.css'), without(COMMENT, code)), [])
})

test('catalogs have only texts that the code names', () => {
  const code = [...page, ...server].filter(source => !isCatalog(source))
  const rows = rowTexts.map(key => `'${key}'`).join(' ')
  assert.equal(unusedTexts(catalogs, `${without(COMMENT, code)} ${rows}`), [])
})

test('each row of the table of the settings has its texts', () => {
  const texts = readFileSync('public/features/settings/strings.ts', 'utf8')
  const keys = new Set([...texts.matchAll(ENTRY)].map(([, key = '']) => key))
  assert.ok(rowTexts.length > 20)
  assert.equal(
    rowTexts.filter(key => !keys.has(key)),
    [],
  )
})

test('the search of the settings finds each of their headings and rows', () => {
  const shown =
    /<(?:h3|legend)\b[^>]*>\s*\{t\('([\w.]+)|<(?:Section|\w*Row)\b[^<]*?\b(?:title|label)=\{t\('([\w.]+)/g
  const settings = without(COMMENT, read('public/features/settings-view/*.tsx'))
  const index = without(COMMENT, read('public/features/settings-view/settings-index.ts'))
  const keys = [...settings.matchAll(shown)].map(([, heading, row]) => heading ?? row ?? '')
  assert.ok(keys.length > 10)
  assert.equal(
    keys.filter(key => !index.includes(`'${key}'`) && !rowTexts.includes(key)),
    [],
  )
})

test('HTML has no inline styles and event handlers, and loads nothing from elsewhere', () => {
  const inline = /\sstyle=|\son[a-z]+=|\bhttps?:\/\/(?!www\.w3\.org\/)/g
  const block = /<style\b|<script(?![^>]*\bsrc=)/g
  const found = read('public/**/*.html').flatMap(({ text }) => text.match(inline) ?? [])
  assert.equal(found, [])
  // The other documents load nothing: their style and script are admitted by hash.
  assert.is(readFileSync('public/index.html', 'utf8').match(block), null)
})

test.run()
