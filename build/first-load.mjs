/** Joins the chunks that the page imports at once: many small files compress worse than one, by about a tenth, and each is a request. */
import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import * as esbuild from 'esbuild'
import { root } from './files.mjs'

const IMPORT = /import\s*(?:\{([^}]*)\}\s*from\s*)?"\.\/([\w-]+\.js)";?\n?/g
const LEGAL_LINK = /\/\*! For license information please see \S+ \*\/\n?/g

/** Static imports of an output, transitively, itself first; lazy chunks are excluded. */
const staticImports = (path, outputs, found = new Set()) => {
  if (found.has(path)) return found
  found.add(path)
  for (const { path: next, kind, external } of outputs[path].imports)
    if (kind === 'import-statement' && !external) staticImports(next, outputs, found)
  return found
}

/** Chunks that import one of `start`, directly or through other chunks. */
const importers = (start, outputs) => {
  const found = new Set(start)
  for (let before = -1; before !== found.size; ) {
    before = found.size
    for (const [path, { imports }] of Object.entries(outputs))
      if (imports.some(({ path: next }) => found.has(next))) found.add(path)
  }
  return [...found].filter(path => path.endsWith('.js'))
}

const shortHash = text => createHash('sha256').update(text).digest('hex').slice(0, 8).toUpperCase()

/**
 * The files of a build by their names, the name of the first load, and `chunksOf`: what a lazy module needs beside the first load.
 * A build with splitting has a chunk for each set of lazy chunks that share code. Those that `entry` needs at once become one file;
 * the lazy chunks import from it. A name has a hash of everything that the file imports, because browsers keep files by their names.
 */
export const joinFirstLoad = async (built, entry, { minify = true } = {}) => {
  const { outputs } = built.metafile
  const main = Object.keys(outputs).find(path => outputs[path].entryPoint === entry)
  const first = staticImports(main, outputs)
  const texts = new Map(built.outputFiles.map(file => [basename(file.path), file.text]))
  const prefixOf = new Map([...first].map((path, index) => [basename(path), `c${index}_`]))

  const names = new Map()
  // Names of an output change with what it imports, so any change anywhere is a new name of the first load.
  const hash = shortHash([...Object.keys(outputs), minify].join())
  for (const path of importers(first, outputs)) {
    const name = basename(path)
    names.set(
      name,
      first.has(path)
        ? `main-${hash}.js`
        : name.replace(/-\w+\.js$/, `-${shortHash(`${name} ${hash}`)}.js`),
    )
  }
  const rename = text => text.replace(/[\w-]+-[A-Z0-9]{8}\.js\b/g, name => names.get(name) ?? name)

  const exportsOf = path =>
    outputs[path].exports.map(name => `${name} as ${prefixOf.get(basename(path))}${name}`)
  const { outputFiles } = await esbuild.build({
    absWorkingDir: root,
    stdin: {
      // The entry is first, so that the modules run in the order in which it imports them.
      contents: [...first]
        .map(path => `export {${exportsOf(path)}} from "./${basename(path)}"`)
        .join('\n'),
    },
    bundle: true,
    format: 'esm',
    target: 'es2022',
    minify,
    write: false,
    legalComments: 'none',
    logLevel: 'silent',
    plugins: [
      {
        name: 'first-load',
        setup: build => {
          build.onResolve({ filter: /^\.\// }, ({ path }) => {
            const name = path.slice(2)
            return prefixOf.has(name)
              ? { path: name, namespace: 'first-load' }
              : { path, external: true }
          })
          build.onLoad({ filter: /./, namespace: 'first-load' }, ({ path }) => ({
            contents: texts.get(path).replace(LEGAL_LINK, ''),
            loader: 'js',
          }))
        },
      },
    ],
  })

  /** Imports of joined chunks become imports of the one file. */
  const redirect = text =>
    text.replace(IMPORT, (whole, list, from) => {
      const prefix = prefixOf.get(from)
      if (prefix === undefined) return whole
      if (list === undefined) return ''
      const bindings = list
        .split(',')
        .map(each => each.trim())
        .filter(Boolean)
        .map(each => {
          const [name, local = name] = each.split(/\s+as\s+/)
          return `${prefix}${name} as ${local}`
        })
      return `import{${bindings}}from"./main-${hash}.js";`
    })

  const legal = [...first]
    .map(path => texts.get(`${basename(path)}.LEGAL.txt`))
    .filter(Boolean)
    .join('\n')
  const mainFile = `main-${hash}.js`
  const mainText = rename(outputFiles[0].text)
  const link = `/*! For license information please see ${mainFile}.LEGAL.txt */\n`
  const files = new Map([[mainFile, legal ? mainText + link : mainText]])
  if (legal) files.set(`${mainFile}.LEGAL.txt`, legal)
  for (const file of built.outputFiles) {
    const name = basename(file.path)
    const owner = name.replace(/\.LEGAL\.txt$/, '')
    if (prefixOf.has(owner)) continue
    if (owner === name && !name.endsWith('.js')) {
      files.set(name, file.contents)
      continue
    }
    const text = owner === name ? rename(redirect(file.text)) : file.text
    const left = [...prefixOf.keys()].find(chunk => text.includes(chunk))
    if (left) throw new Error(`${name} still imports ${left}`)
    files.set(rename(name), text)
  }

  const chunksOf = module => {
    const start = Object.keys(outputs).find(path => outputs[path].entryPoint === module)
    if (!start) throw new Error(`${module} is not a chunk of its own`)
    return [...staticImports(start, outputs)]
      .filter(path => !first.has(path))
      .map(path => rename(basename(path)))
  }
  return { mainFile, files, chunksOf }
}
