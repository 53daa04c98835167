/** Joins chunks that the page imports together: many small files compress worse than one, by about a tenth, and each is a request. */
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
 * A build with splitting has a chunk for each set of lazy chunks that share code. Those that `entry` needs at once become one file,
 * and so do those that each of `later` needs in addition, except what two of them share. Each list of `after` is loaded together, after
 * those, and becomes a file named after its first module, without what an earlier file has. The other chunks import from these files.
 * A name has a hash of the build, because browsers keep files by their names, and what any of these files imports changes with each.
 */
export const joinFirstLoad = async (
  built,
  entry,
  { later = [], after = [], minify = true } = {},
) => {
  const { outputs } = built.metafile
  const outputOf = module => {
    const path = Object.keys(outputs).find(each => outputs[each].entryPoint === module)
    if (!path) throw new Error(`${module} is not a chunk of its own`)
    return path
  }
  const first = staticImports(outputOf(entry), outputs)
  const needs = new Map(later.map(module => [module, staticImports(outputOf(module), outputs)]))
  const isShared = path => [...needs.values()].filter(paths => paths.has(path)).length > 1
  // Names of an output change with what it imports, so any change anywhere is a new name of the first load.
  const hash = shortHash([...Object.keys(outputs), minify].join())
  // The same hash in all of them: as a part of the files that name them, it is compressed. Of two modules with one name, one has a number.
  const given = new Set()
  const hashed = name => {
    const base = name.replace(/-\w+\.js$/, '')
    let next = base
    for (let count = 2; given.has(next); count++) next = `${base}${count}`
    given.add(next)
    return `${next}-${hash}.js`
  }
  const mainFile = `main-${hash}.js`
  const taken = new Set([...first, ...[...needs.values()].flatMap(paths => [...paths])])
  const takeRest = modules => {
    const all = modules.flatMap(module => [...staticImports(outputOf(module), outputs)])
    const rest = [...new Set(all)].filter(path => !taken.has(path))
    for (const path of rest) taken.add(path)
    return rest
  }
  const groups = [
    { file: mainFile, paths: [...first], prefix: 'c' },
    ...[...needs].map(([module, paths], index) => ({
      file: hashed(basename(outputOf(module))),
      paths: [...paths].filter(path => !first.has(path) && !isShared(path)),
      prefix: `d${index}_`,
    })),
    ...after.map((modules, index) => ({
      file: hashed(basename(outputOf(modules[0]))),
      paths: takeRest(modules),
      prefix: `e${index}_`,
    })),
  ]
  /** By the name of a joined chunk: the file it became a part of, and what its exports are called there. */
  const joined = new Map(
    groups.flatMap(({ file, paths, prefix }) =>
      paths.map((path, index) => [basename(path), { file, prefix: `${prefix}${index}_` }]),
    ),
  )
  const texts = new Map(built.outputFiles.map(file => [basename(file.path), file.text]))
  const names = new Map(
    importers(
      groups.flatMap(({ paths }) => paths),
      outputs,
    ).map(path => {
      const name = basename(path)
      return [name, joined.get(name)?.file ?? hashed(name)]
    }),
  )
  // Bounded on both sides: in a long word, such as embedded data, every letter would begin a search to its end.
  const rename = text =>
    text.replace(/(?<![\w-])[\w-]{1,80}-[A-Z0-9]{8}\.js\b/g, name => names.get(name) ?? name)

  /** Imports of chunks that were joined become imports of the file they are in. */
  const redirect = text =>
    text.replace(IMPORT, (whole, list, from) => {
      const target = joined.get(from)
      if (target === undefined) return whole
      if (list === undefined) return target.file === mainFile ? '' : `import"./${target.file}";`
      const bindings = list
        .split(',')
        .map(each => each.trim())
        .filter(Boolean)
        .map(each => {
          const [name, local = name] = each.split(/\s+as\s+/)
          return `${target.prefix}${name} as ${local}`
        })
      return `import{${bindings}}from"./${target.file}";`
    })

  const join = async ({ file, paths }) => {
    const exportsOf = path => {
      const { exports } = outputs[path]
      const { prefix } = joined.get(basename(path))
      const renamed = exports.map(name => `${name} as ${prefix}${name}`)
      // A lazy module is imported by the names of its own exports.
      return outputs[path].entryPoint ? [...exports, ...renamed] : renamed
    }
    const { outputFiles } = await esbuild.build({
      absWorkingDir: root,
      stdin: {
        // The entry is first, so that the modules run in the order in which it imports them.
        contents: paths
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
              return joined.get(name)?.file === file
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
    const text = rename(redirect(outputFiles[0].text))
    const legal = paths
      .map(path => texts.get(`${basename(path)}.LEGAL.txt`))
      .filter(Boolean)
      .join('\n')
    if (!legal) return [[file, text]]
    const link = `/*! For license information please see ${file}.LEGAL.txt */\n`
    return [
      [file, text + link],
      [`${file}.LEGAL.txt`, legal],
    ]
  }

  const files = new Map((await Promise.all(groups.map(join))).flat())
  for (const file of built.outputFiles) {
    const name = basename(file.path)
    const owner = name.replace(/\.LEGAL\.txt$/, '')
    if (joined.has(owner)) continue
    if (owner === name && !name.endsWith('.js')) {
      files.set(name, file.contents)
      continue
    }
    files.set(rename(name), owner === name ? rename(redirect(file.text)) : file.text)
  }
  for (const [name, text] of files) {
    const left = [...joined.keys()].find(chunk => typeof text === 'string' && text.includes(chunk))
    if (left) throw new Error(`${name} still imports ${left}`)
  }

  const chunksOf = module => [
    ...new Set(
      [...staticImports(outputOf(module), outputs)]
        .filter(path => !first.has(path))
        .map(path => rename(basename(path))),
    ),
  ]
  return { mainFile, files, chunksOf, fileOf: path => rename(basename(path)) }
}
