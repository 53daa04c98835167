/** Splits the translations among the scripts of a build, so that a page loads the texts of what it shows. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { root } from './files.mjs'

const FOLDER = join(root, 'public/languages')
const CATALOG = /\btranslator\(\s*'([\w.-]+)'/g
const IMPORT = /\b(?:from|import)\s*"\.\/([\w-]+\.js)"/g
const LAZY_IMPORT = /\bimport\("\.\/([\w-]+\.js)"\)/g

/** By language, each with its catalogs by name. */
const readLanguages = () =>
  readdirSync(FOLDER).map(file => [
    basename(file, '.json'),
    JSON.parse(readFileSync(join(FOLDER, file), 'utf8')),
  ])

/** Names of the catalogs in the modules that an output of a build was made from. */
const catalogsOf = ({ inputs }) =>
  Object.keys(inputs)
    .filter(path => path.startsWith('public/'))
    .flatMap(path => [...readFileSync(join(root, path), 'utf8').matchAll(CATALOG)])
    .map(([, name]) => name)

/** `tasks-view-4F2AQX7B.js` → `tasks-view`: the texts of that script in German are `de.tasks-view-….json`. */
const plainName = file => file.replace(/-\w+\.js$/, '')

/**
 * `scripts`: the scripts of the page by name, of which lazy imports are made to wait for texts. `outputs`: of the builds, each with the
 * name of the script that it is in.
 */
export const splitTexts = ({ scripts, mainFile, outputs }) => {
  const languages = readLanguages()
  const catalogs = new Map()
  for (const [file, output] of outputs) {
    const names = catalogsOf(output)
    if (names.length > 0) catalogs.set(file, [...(catalogs.get(file) ?? []), ...names])
  }
  const namesIn = files => files.filter(file => catalogs.has(file)).map(plainName)

  /** A script and those that it imports. */
  const closure = (file, found = new Set([mainFile])) => {
    if (found.has(file)) return found
    found.add(file)
    for (const [, next] of String(scripts.get(file)).matchAll(IMPORT)) closure(next, found)
    return found
  }
  /** By the script of a lazy import: the texts that it needs. With those of the page, so that no page in English loads it. */
  const needs = {}
  for (const [file, text] of scripts)
    if (file.endsWith('.js'))
      scripts.set(
        file,
        String(text).replace(LAZY_IMPORT, (whole, target) => {
          const names = namesIn([...closure(target)].filter(each => each !== mainFile))
          if (names.length === 0) return whole
          needs[plainName(target)] = names.join(' ')
          // All scripts that have texts share the hash of the build in their names.
          return `importWithTexts("${plainName(target)}")`
        }),
      )

  const textsOf = (file, all) =>
    JSON.stringify({
      ...(file === mainFile && { needs }),
      ...Object.fromEntries(catalogs.get(file).map(name => [name, all[name]])),
    })
  const files = [...catalogs.keys()].flatMap(file =>
    languages.map(([tag, all]) => [`${tag}.${plainName(file)}`, textsOf(file, all)]),
  )
  const hash = createHash('sha256').update(JSON.stringify(files)).digest('hex')
  /** Changes with any translation. */
  const version = hash.slice(0, 8).toUpperCase()
  return {
    /** A file for each script with texts and each language. */
    files: files.map(([name, text]) => [`${name}-${version}.json`, text]),
    /** Of one language, without its tag. */
    names: namesIn([...catalogs.keys()]).map(name => `${name}-${version}.json`),
    /** What a page needs first, as a value of `data-texts`. */
    listFor: first => [version, ...namesIn(first)].join(' '),
  }
}
