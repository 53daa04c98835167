/** The rules of the code structure. Each rule is first shown to reject its bad samples. */
import { globSync, readFileSync } from 'node:fs'
import { posix, sep } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { AFTER_FIRST_VIEW, bundleBrowser } from '../build/browser.mjs'
import { joinFirstLoad } from '../build/first-load.mjs'
import { leaveOut } from '../build/unneeded.mjs'
import { importsOf, reachable, violation } from './_layers.ts'
import { violations, codeOf, rules, type Source } from './_rules.ts'
import { settingsOutOfIndex } from './_settings-index.ts'
import { unusedClasses, unusedExports, unusedText } from './_unused.ts'
import { wordRule } from './_words.ts'

const tree: Source[] = globSync(
  ['*.{ts,mjs}', '{lib,handlers,public,test,bench,eval,build}/**/*.{ts,tsx,mjs,css,html}'],
  { exclude: ['node_modules', 'dist'] },
).map(path => ({ path: path.split(sep).join('/'), text: readFileSync(path, 'utf8') }))

const test = suite('structure')

for (const rule of [...rules, wordRule]) {
  test(`${rule.name} – rejects its samples`, () => {
    for (const source of rule.bad) assert.ok(violations(rule, [source]).length > 0, source.text)
    for (const source of rule.good) assert.equal(violations(rule, [source]), [], source.text)
  })
  test(rule.name, () => assert.equal(violations(rule, tree), []))
}

const file = (path: string, text: string): Source => ({ path, text })

test('style sheets have only classes that the page names – rejects its samples', () => {
  const css = '/* .gone */ .row.is-open > .term-c12 { a: b } .head:hover { a: 1.5em }'
  const page = `const a = <p class={b.head ? \`term-c\${color}\` : "row"} />`
  const used = 'const c = d ? "is-open" : "head"'
  assert.equal(unusedClasses([file('public/a.css', css), file('public/a.tsx', page)]), [
    'public/a.css: .is-open',
    'public/a.css: .head',
  ])
  const both = [file('public/a.css', css), file('public/a.tsx', `${page}\n${used}`)]
  assert.equal(unusedClasses(both), [])
})

test('style sheets have only classes that the page names', () => {
  assert.equal(unusedClasses(tree), [])
})

test('catalogs have only text that the code names – rejects its samples', () => {
  const catalog = `const en = {\n  'a.title': 'A',\n  'a.kind.left': 'L',\n  'a.kind.right': 'R',\n}`
  const strings = file('public/features/a/strings.ts', catalog)
  const used = file('public/features/a/a.tsx', `t(\`a.kind.\${kind}\`); const kinds = ["left"]`)
  assert.equal(unusedText([strings, used]), [
    'public/features/a/strings.ts: a.title',
    'public/features/a/strings.ts: a.kind.right',
  ])
  const rest = file('lib/schema/a.ts', "const k = ['right']; t('a.title')")
  assert.equal(unusedText([strings, used, rest]), [])
})

test('catalogs have only text that the code names', () => assert.equal(unusedText(tree), []))

test('an exported value is named by another file – rejects its samples', () => {
  const values = file('lib/a.ts', 'export const alone = 1\nexport const shared = alone')
  const reader = file('lib/b.ts', "import type { shared } from './a.ts' // alone")
  assert.equal(unusedExports([values]), ['lib/a.ts: alone', 'lib/a.ts: shared'])
  assert.equal(unusedExports([values, reader]), ['lib/a.ts: alone'])
})

test('an exported value is named by another file', () => assert.equal(unusedExports(tree), []))

test('the search finds every setting – rejects its samples', () => {
  const folder = 'public/features/settings'
  const view = "import { A } from './a.tsx'\nconst sections = {\n  general: A,\n  about: A,\n}"
  const shown = "const a = <><h3>{t('a.title')}</h3><Row hint={1} label={t('a.row')} /></>"
  const settings = (index: string) =>
    settingsOutOfIndex([
      file(`${folder}/settings-view.tsx`, view),
      file(`${folder}/a.tsx`, shown),
      file(`${folder}/settings-index.ts`, index),
    ])
  assert.equal(settings("entry('general', t('a.title')),"), ['general: a.row', 'about: a.row'])
  const others = "entry('general', t('a.row'), t('a.title')),\nentry('general', t('b.title')),"
  assert.equal(settings(others), ['general: b.title'])
})

test('the search finds every setting', () => assert.equal(settingsOutOfIndex(tree), []))

const importing = (from: string, text: string) =>
  importsOf({ path: from, text }).map(found => violation(found))

test('imports are found in every form', () => {
  const text = `/** import { no } from './comment.ts' */
import { a } from './a.ts'
import type { B } from '../b.ts'
import * as c from 'c'
import {
  d,
} from './d.ts'
import './e.ts'
export { f } from './f.ts'
const g = await import('./g.ts')
new Worker(new URL('./h.ts', import.meta.url))`
  const found = importsOf({ path: 'lib/x/x.ts', text }).map(({ to, isType }) => [to, isType])
  assert.equal(found, [
    ['lib/x/a.ts', false],
    ['lib/b.ts', true],
    ['c', false],
    ['lib/x/d.ts', false],
    ['lib/x/e.ts', false],
    ['lib/x/f.ts', false],
    ['lib/x/g.ts', false],
  ])
})

test('imports go down – rejects its samples', () => {
  const bad: [string, string][] = [
    ['lib/http/request-listener.ts', "import { a } from '../sessions/store.ts'"],
    ['lib/http/request-listener.ts', "import { a } from '../store/atomic.ts'"],
    ['lib/sessions/store.ts', "import { a } from '../models/resolve.ts'"],
    ['lib/sessions/store.ts', "import type { A } from '../app/app.ts'"],
    ['lib/agent/loop.ts', "import type { A } from '../http/endpoint.ts'"],
    ['lib/turns/turn.ts', "import { a } from '../../handlers/chat.ts'"],
    ['lib/schema/ok.ts', "import { a } from '../http/reply.ts'"],
    ['handlers/chat.ts', "import { createApp } from '../lib/app/app.ts'"],
    ['handlers/chat.ts', "import { chat } from './sessions.ts'"],
    ['handlers/chat.ts', "import { writeAtomic } from '../lib/store/atomic-write.ts'"],
    ['router.ts', "import { append } from './lib/sessions/store.ts'"],
    ['public/main.tsx', "import { Session } from '../lib/schema/session.ts'"],
    ['public/main.tsx', "import type { App } from '../lib/app/app.ts'"],
    ['public/main.tsx', "import { readFileSync } from 'node:fs'"],
    ['lib/hub.ts', "import { startApp } from './_app.ts'"],
  ]
  for (const [from, text] of bad) assert.ok(importing(from, text)[0], `${from}: ${text}`)
  const good: [string, string][] = [
    ['lib/http/request-listener.ts', "import { Refusal } from '../errors.ts'"],
    ['lib/turns/turn.ts', "import { a } from '../sessions/history.ts'"],
    ['lib/app/app.ts', "import { a } from './turns/runner.ts'"],
    ['handlers/chat.ts', "import { endpoint } from '../lib/context.ts'"],
    ['router.ts', "import * as chat from './handlers/chat.ts'"],
    ['public/main.tsx', "import type { Api } from '../router.ts'"],
    ['public/main.tsx', "import { render } from 'preact'"],
  ]
  for (const [from, text] of good) assert.equal(importing(from, text), [undefined], text)
})

test('imports go down', () => {
  const found = tree
    .flatMap(importsOf)
    .map(each => ({ each, why: violation(each) }))
    .filter(({ why }) => why)
    .map(({ each, why }) => `${each.from} → ${each.to}: ${why}`)
  assert.equal(found, [])
})

/** Full-text statements block for tens of milliseconds: only the worker may run them. */
const FULL_TEXT = /\bfts5\b|\bbm25\(|\bwhere\b[^'"`]*\bmatch\b/i
const fullTextOf = (entry: string, sources: readonly Source[]) => {
  const running = reachable(entry, sources)
  return sources
    .filter(source => running.has(source.path) && FULL_TEXT.test(codeOf(source)))
    .map(({ path }) => path)
}

test('no full-text statement on the main thread – rejects its sample', () => {
  const sources = [
    { path: 'router.ts', text: "import './lib/search.ts'" },
    { path: 'lib/search.ts', text: "db.prepare('select 1 from fts where fts match ?')" },
    { path: 'lib/worker.ts', text: "db.exec('create virtual table a using fts5(b)')" },
  ]
  assert.equal(fullTextOf('router.ts', sources), ['lib/search.ts'])
})

/** Run in a command line process: the host agent's empty table is created (`chat`), the server's index is read (`mcp`). */
const COMMAND_LINE = ['lib/host-db/create-database.ts', 'lib/sessions/ranked-hits.ts']

test('no full-text statement on the main thread', () => {
  assert.equal(fullTextOf('router.ts', tree).toSorted(), COMMAND_LINE)
})

/** Built once for all tests below. */
const bundle = async () => (bundle.built ??= await bundleBrowser())
bundle.built = undefined as Awaited<ReturnType<typeof bundleBrowser>> | undefined

test('what the page needs at once is one file, and every chunk imports what it exports', async () => {
  const transcript = 'public/features/transcript/transcript.tsx'
  const later = [transcript, 'public/features/home/lazy-home.ts']
  const { mainFile, files, chunksOf } = await joinFirstLoad(await bundle(), 'public/main.tsx', {
    later,
    after: AFTER_FIRST_VIEW,
  })
  const texts = new Map([...files].map(([name, contents]) => [name, contents.toString()]))
  const main = texts.get(mainFile)!
  // Not the end of a route in a string: `/api/session/import"`.
  assert.not.match(main, /(?<!\/)\bimport\s*(?:\{|")/)
  const exportsOf = (file: string) =>
    (/\bexport\{([^}]*)\}/.exec(texts.get(file)!)?.[1] ?? '')
      .split(',')
      .map(each => each.split(' as ').at(-1)!)
  const [transcriptFile = ''] = chunksOf(transcript)
  assert.ok(exportsOf(transcriptFile).includes('Transcript'))
  for (const modules of AFTER_FIRST_VIEW)
    assert.ok(new Set(modules.flatMap(chunksOf)).size <= 3, `${modules[0]}`)
  const scripts = [...texts].filter(([name]) => name.endsWith('.js'))
  const exported = new Map(scripts.map(([name]) => [name, new Set(exportsOf(name))]))
  for (const [name, text] of scripts) {
    for (const [, from] of text.matchAll(/(?:from|import|import\()"\.\/([\w-]+\.js)"/g))
      assert.ok(texts.has(from!), `${name} imports ${from}`)
    for (const [, list, from] of text.matchAll(/import\{([^}]*)\}from"\.\/([\w-]+\.js)"/g)) {
      const wanted = list!.split(',').map(each => each.split(' as ')[0]!)
      for (const each of wanted)
        assert.ok(exported.get(from!)?.has(each), `${name} imports ${each} from ${from}`)
    }
  }
  assert.ok(scripts.filter(([, text]) => text.includes(`from"./${mainFile}"`)).length > 10)
})

test('the browser bundle contains files of public/, lib/base and packages only', async () => {
  const { metafile } = await bundle()
  const foreign = Object.keys(metafile.inputs).filter(
    path => !/^(public\/|lib\/base\/|node_modules\/|<|font:)/.test(path),
  )
  assert.equal(foreign, [])
})

/** For packages that name their license only in a file. */
const licenseText = (path: string): string => {
  const [file] = globSync(`${path}/[Ll][Ii][Cc][Ee][Nn][CcSs][Ee]*`)
  return file ? readFileSync(file, 'utf8') : ''
}

const isPermissive = (license: string): boolean =>
  /\b(?:MIT|ISC|BSD|0BSD|Apache-2\.0|Unlicense|CC0-1\.0)\b/.test(license)

test('the browser bundle contains only code under permissive licenses', async () => {
  const { metafile, outputFiles } = await bundle()
  const packages = new Set(
    Object.keys(metafile.inputs).flatMap(
      path => /^(node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [],
    ),
  )
  const strict = [...packages].filter(path => {
    const { license = licenseText(path) } = JSON.parse(readFileSync(`${path}/package.json`, 'utf8'))
    return !isPermissive(String(license))
  })
  assert.equal(strict, [])
  // mermaid's file contains what the install leaves out; of that, build/browser.mjs removes ELK. khroma (MIT) names its license in a file.
  const { packages: locked }: Lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const kept = leaveOut(locked)
  const inFile = Object.entries(locked).filter(([path, { dev }]) => !dev && !kept[path])
  const others = inFile.filter(([, { license = '' }]) => !isPermissive(license))
  assert.equal(
    others.map(([path]) => path),
    ['node_modules/elkjs', 'node_modules/khroma'],
  )
  assert.not.ok(outputFiles.some(({ text }) => text.includes('eclipse.elk')))
})

type Lock = {
  packages: Record<
    string,
    {
      name?: string
      version: string
      resolved?: string
      integrity?: string
      license?: string
      dev?: boolean
      optional?: boolean
      optionalDependencies?: Record<string, string>
    }
  >
}

test('the lock file has the checksum of every package, names no registry, and has every platform', () => {
  const { packages }: Lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const wrong = Object.entries(packages).filter(([path, { resolved, integrity, optional }]) => {
    // A registry may lack what another platform needs.
    if (path === '' || (optional && !resolved && !integrity)) return false
    return resolved !== undefined || !integrity?.startsWith('sha512-')
  })
  assert.equal(
    wrong.map(([path]) => path),
    [],
  )
  // `npm ci` refuses a lock without them, on every platform.
  const missing = Object.values(packages)
    .flatMap(entry => Object.keys(entry.optionalDependencies ?? {}))
    .filter(name => !packages[`node_modules/${name}`])
  assert.equal(missing, [])
})

const MAX_FOLDER_FILES = 45

/** Folders of product code with too many files directly in them. */
const crowdedFolders = (paths: readonly string[]): string[] => {
  const counts = new Map<string, number>()
  for (const path of paths) {
    if (!/^(?:lib|handlers|public)\//.test(path)) continue
    const folder = posix.dirname(path)
    counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  return [...counts].filter(([, count]) => count > MAX_FOLDER_FILES).map(([folder]) => folder)
}

test('a folder has at most 45 files – rejects its sample', () => {
  const paths = Array.from({ length: MAX_FOLDER_FILES + 1 }, (_, n) => `lib/a/${n}.ts`)
  assert.equal(crowdedFolders(paths), ['lib/a'])
  assert.equal(crowdedFolders(paths.slice(1)), [])
})

test('a folder has at most 45 files', () => {
  assert.equal(crowdedFolders(tree.map(({ path }) => path)), [])
})

test.run()
