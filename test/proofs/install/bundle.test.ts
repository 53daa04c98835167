/** What the build puts into the page: chunks, sources, and licenses; and the lock file that it installs from. */
import { globSync, readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { AFTER_FIRST_VIEW, bundleBrowser, listAssets } from '../../../build/browser.mjs'
import { joinFirstLoad } from '../../../build/first-load.mjs'
import { readTranslation, TRANSLATED } from '../../../build/languages.ts'

const test = suite('bundle')

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
  // Not the end of a route in a string (`/api/session/import"`), nor the name of a section.
  assert.not.match(main, /(?<![/"])\bimport\s*(?:\{|")/)
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

test('a page in German loads the texts of what it shows, and each lazy import waits for its own', async () => {
  const assets = new Map((await listAssets()).assets)
  const names = [...assets.keys()]
  const read = (name: string) => assets.get(name)!.raw.toString()
  for (const language of TRANSLATED) {
    const files = names.filter(name => name.startsWith(`/static/${language}.`))
    const split = Object.assign({}, ...files.map(name => JSON.parse(read(name))))
    const { needs, ...catalogs } = split
    assert.equal(catalogs, readTranslation(language))
    assert.ok(Object.keys(needs).length > 40)
  }
  for (const page of ['home.html', 'chat.html']) {
    const [version, ...first] = (/ data-texts="([^"]*)"/.exec(read(page))?.[1] ?? '').split(' ')
    assert.is(first[0], 'main')
    const files = first.map(name => assets.get(`/static/de.${name}-${version}.json`)!)
    // All of German has ten times as much.
    assert.ok(files.reduce((sum, { raw }) => sum + raw.length, 0) < 20_000, page)
  }
  const scripts = names.filter(name => /^\/static\/[\w-]+\.js$/.test(name))
  const main = scripts.find(name => name.startsWith('/static/main-'))!
  const lazy = scripts.flatMap(name =>
    [...read(name).matchAll(/\bimportWithTexts\("([\w-]+)"\)/g)].map(([, target]) => target!),
  )
  assert.ok(lazy.includes('settings-view'))
  for (const target of lazy) assert.ok(assets.has(main.replace('main', target)), target)
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
  // build/pack-mermaid.mjs checks the licenses of what mermaid's file contains, and leaves out ELK.
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
    const isOurs = resolved === 'file:build/mermaid.tgz'
    return (resolved !== undefined && !isOurs) || !integrity?.startsWith('sha512-')
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

test.run()
