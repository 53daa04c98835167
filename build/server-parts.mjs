/** The code of the server in parts: one script that every start loads, and parts that are loaded when they are used. */
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import * as esbuild from 'esbuild'
import { BUNDLE, checkInputs, oneLanguage, packedAddon, toAscii } from './bundle.mjs'
import { root } from './files.mjs'
import { LATE_MODULES, LATE_PACKAGES } from './late-modules.mjs'
import { ENTRY, LATE } from './launch.mjs'

/** In the first pass of the server's code: a part that is loaded at once, where a dynamic import would be awaited. */
const LOAD_NOW = 'loadPartNow'

/** What `LOAD_NOW(import(…))` has become in the second pass, which may break the line anywhere in it. */
const LOADED_NOW = new RegExp(
  `${LOAD_NOW}\\(\\s*Promise\\s*\\.resolve\\(\\)\\s*\\.then\\(\\s*\\(\\)\\s*=>\\s*(?:\\w+\\(\\s*)?(require\\(\\s*"[^"]+"\\s*\\))\\s*\\)?\\s*\\)\\s*\\)`,
  'g',
)

/**
 * Each module of handlers becomes a part that the first request for one of its routes loads: their schemas are a tenth of what a
 * start would evaluate, and most are never used. `import * as x from './handlers/y.ts'` becomes a function, and the routes
 * become getters. Everything else about the table stays as it is written.
 */
export const withLateHandlers = source => {
  const imports = /^import \* as (\w+) from ('\.\/handlers\/[^']+')$/gm
  const routes = /^( +)('[A-Z]+ \/[^']*'): (\w+)\.(\w+),$/gm
  return source
    .replace(imports, (_, name, path) => `const ${name} = () => ${LOAD_NOW}(import(${path}))`)
    .replace(
      routes,
      (_, space, route, name, key) => `${space}get ${route}() { return ${name}().${key} },`,
    )
}

/** The name of a part without `./` and `.js`. */
const lateName = path => `${LATE.slice(2)}${path.replace(/\.ts$/, '').replaceAll('/', '-')}`

const lateParts = {
  name: 'late-parts',
  setup: build => {
    const late = new Map(LATE_MODULES.map(path => [join(root, path), path]))
    const external = path => ({
      path: `./${lateName(path)}.js`,
      external: true,
      sideEffects: false,
    })
    build.onResolve({ filter: new RegExp(`^(?:${LATE_PACKAGES.join('|')})$`) }, ({ path, kind }) =>
      kind === 'import-statement' ? external(path) : undefined,
    )
    build.onResolve({ filter: /^\..*\.ts$/ }, ({ path, kind, resolveDir }) => {
      const found = kind === 'import-statement' && late.get(join(resolveDir, path))
      return found ? external(found) : undefined
    })
  },
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

const PART_PARAMETERS = 'require, module, exports, PACKED, SELF_URL, SELF_DIRECTORY'

/** The parts that are loaded with `name`, including itself. */
const loadedWith = ({ outputs }, name, found = new Set()) => {
  if (found.has(name)) return found
  found.add(name)
  for (const { path, kind } of outputs[name].imports)
    if (kind === 'import-statement' && outputs[path]) loadedWith({ outputs }, path, found)
  return found
}

/** One script for all that every start loads, because each takes a tenth of a millisecond. */
export const startupScript = parts =>
  `({${parts
    .filter(({ isFirst }) => isFirst)
    .map(({ name, code }) => `${JSON.stringify(name)}:${code}`)
    .join(',\n')}})`

/**
 * The parts of the server: what is imported only at run time becomes a part that is loaded then. `source` is the file that is
 * imported; `isFirst` are those that every start loads.
 */
export const bundleServer = async () => {
  const { outputFiles, metafile } = await esbuild.build({
    ...BUNDLE,
    // By the second pass, which needs whole lines.
    minifyWhitespace: false,
    lineLimit: undefined,
    entryPoints: {
      router: 'router.ts',
      ...Object.fromEntries(
        [...LATE_PACKAGES, ...LATE_MODULES].map(path => [lateName(path), path]),
      ),
    },
    format: 'esm',
    splitting: true,
    outdir: 'parts',
    chunkNames: '[name]-[hash]',
    legalComments: 'eof',
    plugins: [packedAddon, plainStart, oneLanguage, lateParts],
    external: ['./browser.mjs'],
    define: { 'import.meta.url': 'SELF_URL', 'import.meta.dirname': 'SELF_DIRECTORY' },
  })
  checkInputs(metafile)
  const first = loadedWith(metafile, `parts/${basename(ENTRY)}`)
  return Promise.all(
    outputFiles.map(async ({ path, text }) => {
      const { code } = await esbuild.transform(withNames(text), {
        format: 'cjs',
        platform: 'node',
        target: BUNDLE.target,
        // Becomes a call of the launcher's `require`: a script has no modules.
        supported: { 'dynamic-import': false },
        minifySyntax: true,
        minifyWhitespace: true,
        lineLimit: BUNDLE.lineLimit,
        legalComments: 'eof',
      })
      const name = basename(path)
      const { entryPoint } = metafile.outputs[`parts/${name}`]
      const late = toAscii(code.replaceAll(LOADED_NOW, '$1'))
      if (late.includes(LOAD_NOW)) throw new Error(`${name}: a part is not loaded at once`)
      return {
        name: `./${name}`,
        code: `(function (${PART_PARAMETERS}) {${late}\n})`,
        source: entryPoint,
        isFirst: first.has(`parts/${name}`),
      }
    }),
  )
}
