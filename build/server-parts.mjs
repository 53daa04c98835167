/** The code of the server in parts: each module of ours is a function that runs when something of the module is used for the first time. */
import { readFileSync } from 'node:fs'
import { basename, join, relative, sep } from 'node:path'
import * as esbuild from 'esbuild'
import {
  BUNDLE,
  checkInputs,
  oneLanguage,
  packedAddon,
  plainOrder,
  smallUndici,
  toAscii,
} from './bundle.mjs'
import { root } from './files.mjs'

/**
 * Packages that a start does not use: parts of their own. esbuild would evaluate a CommonJS package with the module that
 * imports it; what all parts share (zod) should not be here, because a part has every export of its package.
 */
const PACKAGES = ['cron-parser', 'diff', 'unbash', 'yaml']

const PREFIX = 'part-'

/** The name of the part of a file, without `./` and `.js`. Names of files have no underscore. */
const nameOf = path => `${PREFIX}${path.replace(/\.ts$/, '').replaceAll('/', '_')}`

export const PACKAGE_PARTS = new Set(PACKAGES.map(name => `./${nameOf(name)}.js`))

const pathOf = file => relative(root, file).replaceAll(sep, '/')

/**
 * Routes become getters, so that a module of handlers is loaded with the first request for one of its routes. Everything
 * else about the table stays as it is written.
 */
export const withLateHandlers = source => {
  const used = new Map()
  const routes = source.replace(
    /^( +)('[A-Z]+ \/[^']*'): (\w+)\.(\w+),$/gm,
    (_, space, route, module, key) => {
      used.set(module, new Set([...(used.get(module) ?? []), key]))
      return `${space}get ${route}() { return ${module}_${key} },`
    },
  )
  // By name: esbuild loads a module that is imported as a whole at once.
  return routes.replace(
    /^import \* as (\w+) from ('\.\/handlers\/[^']+')$/gm,
    (_, module, path) => {
      const names = [...(used.get(module) ?? [])].map(key => `${key} as ${module}_${key}`)
      return `import { ${names.join(', ')} } from ${path}`
    },
  )
}

/** The packed code is a function, which has no top-level await. */
const plainStart = {
  name: 'plain-start',
  setup: build =>
    build.onLoad({ filter: /[\\/]router\.ts$/ }, ({ path }) => {
      const contents = readFileSync(path, 'utf8')
      return {
        contents: withLateHandlers(contents).replace(/if \(import\.meta\.main\)\s+await /, 'void '),
        loader: 'ts',
      }
    }),
}

/** Each module of ours imports the others from their parts. */
const ownParts = {
  name: 'own-parts',
  setup: build => {
    const part = path => ({ path: `./${nameOf(path)}.js`, external: true, sideEffects: false })
    build.onResolve({ filter: new RegExp(`^(?:${PACKAGES.join('|')})$`) }, ({ path, kind }) =>
      kind === 'entry-point' ? undefined : part(path),
    )
    build.onResolve({ filter: /^\..*\.ts$/ }, ({ path, kind, resolveDir }) =>
      kind === 'entry-point' ? undefined : part(pathOf(join(resolveDir, path))),
    )
  },
}

/** All modules of ours that the entry imports, at its start or later. */
const listModules = async () => {
  const { metafile } = await esbuild.build({
    ...BUNDLE,
    entryPoints: ['router.ts'],
    format: 'esm',
    packages: 'external',
    external: ['./browser.mjs'],
    outdir: 'modules',
  })
  checkInputs(metafile)
  return Object.keys(metafile.inputs)
}

/**
 * A CommonJS package that is imported at run time has only a default export in a split bundle of esbuild. Node gives it named
 * exports as well.
 */
const withNames = code =>
  code.replace(
    /^export default (require_\w+\(\));$/m,
    (_, exported) => `const exported = ${exported}
module.exports = Object.defineProperties(
  {},
  {
    ...Object.getOwnPropertyDescriptors(exported),
    default: { value: exported, enumerable: true },
    __esModule: { value: true },
  },
)`,
  )

/** What esbuild calls an imported part, a chunk that parts share, or a module of Node. */
const IMPORT = /^var (import_\w+) = ((?:__toESM\()?require\("(?:\.\/|node:)[^"]+"\)\)?);$/gm

/** Imports that load when something of them is used: `(name || load_name())` costs almost nothing afterwards. */
export const withLateImports = code => {
  const names = []
  const declared = code.replace(IMPORT, (_, name, load) => {
    names.push(name)
    return `var #${name}, #load_${name} = () => #${name} = ${load};`
  })
  if (names.length === 0) return code
  const uses = new RegExp(`(?<![\\w$#])(?<!(?<!\\.\\.)\\.)(?:${names.join('|')})(?![\\w$])`, 'g')
  return declared
    .replace(uses, name => `(${name} || load_${name}())`)
    .replaceAll(/#((?:load_)?import_)/g, '$1')
}

/** Around the list of exports, which is what esbuild writes before the code of each module, after its helpers. */
const EXPORTS = '\n__export(stdin_exports, '
const END = ');\nmodule.exports = __toCommonJS(stdin_exports);\n'

/** The launcher has the helpers once. Without them, an export is one getter and not two. */
const withSharedHelpers = code => {
  const [from, to] = [code.indexOf(EXPORTS), code.indexOf(END)]
  if (from < 0 || to < from) return code
  const exported = code.slice(from + EXPORTS.length, to)
  return `__export(exports, ${exported});\n${code.slice(to + END.length)}`
}

/** `createLoader` of launch.mjs passes them. */
const PARAMETERS = 'require, module, exports, __export, __toESM, PACKED, SELF_URL, SELF_DIRECTORY'

/** One script of several parts: an object of functions by name. */
export const joinParts = parts =>
  `({${parts.map(({ name, code }) => `${JSON.stringify(name)}:${code}`).join(',\n')}})`

const toPart = async (name, text) => {
  const options = {
    platform: 'node',
    target: BUNDLE.target,
    // Becomes a call of the launcher's `require`: a script has no modules.
    supported: { 'dynamic-import': false },
    legalComments: 'eof',
  }
  const { code } = await esbuild.transform(withNames(text), { ...options, format: 'cjs' })
  const late = await esbuild.transform(withLateImports(withSharedHelpers(code)), {
    ...options,
    // All but those of the module itself, which a stack shows: V8 loads a code cache with fewer names in half the time.
    minifyIdentifiers: true,
    minifySyntax: true,
    minifyWhitespace: true,
    lineLimit: BUNDLE.lineLimit,
  })
  return { name: `./${name}`, code: `(function (${PARAMETERS}) {${toAscii(late.code)}\n})` }
}

/** The parts of the server. `source` is the file of ours, or of a package that is imported at run time. */
export const bundleServer = async () => {
  const modules = await listModules()
  const { outputFiles, metafile } = await esbuild.build({
    ...BUNDLE,
    // By `withLateImports`, which needs whole lines.
    minifyWhitespace: false,
    lineLimit: undefined,
    entryPoints: Object.fromEntries([...PACKAGES, ...modules].map(path => [nameOf(path), path])),
    format: 'esm',
    splitting: true,
    outdir: 'parts',
    chunkNames: 'chunk-[hash]',
    legalComments: 'eof',
    plugins: [packedAddon, plainStart, oneLanguage, smallUndici, plainOrder, ownParts],
    external: ['./browser.mjs'],
    define: { 'import.meta.url': 'SELF_URL', 'import.meta.dirname': 'SELF_DIRECTORY' },
  })
  checkInputs(metafile)
  return Promise.all(
    outputFiles.map(async ({ path, text }) => {
      const name = basename(path)
      const { entryPoint } = metafile.outputs[`parts/${name}`]
      return { ...(await toPart(name, text)), source: entryPoint }
    }),
  )
}
