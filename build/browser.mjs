/** Builds the page: bundles of public/ with hashed names, and all other assets. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, extname, join, relative, sep } from 'node:path'
import * as esbuild from 'esbuild'
import { createAsset } from '../lib/http/static.ts'
import { root } from './files.mjs'
import { joinFirstLoad } from './first-load.mjs'
import { bundleWorker, viewChunks } from './service-worker.mjs'
import { fontLicenses, fontNames, fonts } from './fonts.mjs'
import { systemTheme } from './system-theme.mjs'
import { splitTexts } from './texts.mjs'

const CODE = new Set(['.ts', '.tsx', '.css'])

const MAIN = 'public/main.tsx'
const FIRST_REQUEST = 'public/first-request.ts'
/** Of the pages of a forwarder. */
const CELLS = 'public/features/cells/main.tsx'
/** What an address shows first, by the template that its page is made of. */
const FIRST_VIEWS = {
  'home.html': 'public/features/home/lazy-home.ts',
  'chat.html': 'public/features/transcript/transcript.tsx',
}
/** What every page loads once it has shown what was opened; what a chat with steps is shown with; what a chat loads once it is shown. */
export const AFTER_FIRST_VIEW = [
  [
    'public/features/composer/lazy-bar.ts',
    'public/features/composer/completion-list.tsx',
    'public/features/composer/slash-commands.ts',
    'public/features/offline/start.ts',
    'public/features/frame/late-frame.ts',
    'public/parts/menu.tsx',
    'public/parts/more-icons.ts',
  ],
  ['public/features/transcript/work-words.tsx'],
  [
    'public/features/transcript/step-row.tsx',
    'public/features/transcript/turn-summary.tsx',
    'public/features/references/linked.tsx',
    'public/markdown/plain-text.ts',
  ],
]
/** Shown without a network. */
const ICONS = ['favicon.svg', 'icon-192.png']
const MARKED = join(root, 'node_modules/marked/lib/marked.esm.js')
const SHEETS = [
  'public/style/main.css',
  'public/style/lazy.css',
  'public/features/terminal/terminal.css',
]

/** KaTeX ships each font in three formats; every supported browser reads woff2. */
const onlyWoff2 = {
  name: 'only-woff2',
  setup: build =>
    build.onLoad({ filter: /katex(\.min)?\.css$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(
        /,\s*url\([^)]*\.(?:woff|ttf)\)\s*format\("[^"]*"\)/g,
        '',
      ),
      loader: 'css',
    })),
}

/**
 * xterm.js creates style elements and style attributes, which our Content-Security-Policy blocks: the elements get the
 * page's nonce, and the attributes are set through the object model. Fails when a new version does it in another way.
 */
const xtermUnderPolicy = {
  name: 'xterm-under-policy',
  setup: build =>
    build.onLoad({ filter: /@xterm[/\\]xterm[/\\]lib[/\\]xterm\.mjs$/ }, ({ path }) => {
      const nonce = 'document.querySelector("link[nonce],style[nonce],script[nonce]")?.nonce??""'
      let count = 0
      const counted = text => {
        count += 1
        return text
      }
      const contents = readFileSync(path, 'utf8')
        .replace(/[\w.]+\.createElement\("style"\)/g, made =>
          counted(`Object.assign(${made},{nonce:${nonce}})`),
        )
        .replace(/\.setAttribute\("style",(`[^`]*`)\)/g, (_, value) =>
          counted(`.style.cssText=${value}`),
        )
      if (count !== 4) throw new Error(`xterm.js sets styles in ${count} places, expected 4`)
      return { contents, loader: 'js' }
    }),
}

/**
 * marked is one file that ends with an instance of everything in it, so no bundler can leave out its parser and renderer, which the page
 * does not use. Without the instance, it can. Fails when a new version ends in another way.
 */
const markedLexer = {
  name: 'marked-lexer',
  setup: build =>
    build.onLoad({ filter: /[/\\]marked\.esm\.js$/ }, ({ path }) => {
      // mermaid has a version of its own, and uses all of it.
      if (path !== MARKED) return undefined
      const text = readFileSync(path, 'utf8')
      const [, classes, names] =
        /^(.*[;}])var \w+=new \w+;function .*export\{([^}]*)\};\s*(?:\/\/.*\s*)?$/s.exec(text) ?? []
      const exported = names?.split(',').filter(name => / as (?:Lexer|getDefaults)$/.test(name))
      if (exported?.length !== 2) throw new Error('marked ends in another way than expected')
      return { contents: `${classes}export{${exported}}`, loader: 'js' }
    }),
}

/** Documents that load nothing have everything in themselves: `{{> name}}` becomes the file of that name. */
const withParts = (html, path) =>
  html.replace(/^\{\{> (\S+)\}\}\n/gm, (_, part) => readFileSync(join(dirname(path), part), 'utf8'))

/** Bundles public/ in memory. `index.html` names `static/main.js`; the built names have hashes. */
export const bundleBrowser = ({ minify = true } = {}) =>
  esbuild.build({
    absWorkingDir: root,
    entryPoints: [MAIN, ...SHEETS],
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    minify,
    write: false,
    metafile: true,
    outdir: 'static',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    legalComments: 'linked',
    define: { 'process.env.NODE_ENV': minify ? '"production"' : '"development"' },
    loader: { '.woff2': 'file', '.svg': 'file', '.png': 'file' },
    plugins: [onlyWoff2, xtermUnderPolicy, markedLexer, fonts, systemTheme],
    logLevel: 'silent',
  })

const readTree = directory =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))

/** `static/main.js` → `static/main-4F2AQX7B.js` in the page. */
const hashNames = (html, names) =>
  [...names].reduce(
    (text, [plain, name]) => text.replaceAll(`static/${plain}`, `static/${name}`),
    html,
  )

/** Built apart from the page: with code in common they would wait for its chunks. */
const bundleApart = async (entry, format, minify) => {
  const { outputFiles, metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    format,
    target: 'es2022',
    minify,
    write: false,
    metafile: true,
    outdir: 'static',
    entryNames: '[name]-[hash]',
    define: { 'process.env.NODE_ENV': minify ? '"production"' : '"development"' },
  })
  const [{ path, contents }] = outputFiles
  return [basename(path), contents, Object.values(metafile.outputs)[0]]
}

/** Runs as soon as it is there, which a module or a script in order does not. */
const withFirstRequest = (html, name) =>
  html.replace(
    /^ *<link rel="stylesheet"/m,
    line => `    <script async src="static/${name}"></script>\n${line}`,
  )

/** Messages contain code: a font that arrives after them makes the browser lay out all of them again. */
const withCodeFont = (html, name) =>
  html.replace(
    /^ *<link rel="preload" as="font"[^>]*>\n/m,
    line => `${line}${line.replace(/static\/[^"]+/, `static/${name}`)}`,
  )

/** The texts that the page shows first. */
const withTextList = (html, list) => html.replace('data-texts=""', `data-texts="${list}"`)

/** The first page is styled by it. */
const withLazyStyle = (html, name) =>
  html.replace(
    /^ *<link rel="stylesheet"[^>]*>\n/m,
    // Not a preload: a script does not get what was preloaded through a service worker.
    line =>
      `${line}    <link rel="stylesheet" media="not all" data-lazy="page" href="static/${name}">\n`,
  )

/** A view that the page shows first is requested beside main.js, which would request it only when it runs. */
const withPreloads = (html, chunks) =>
  html.replace(
    /^ *<script type="module"/m,
    line =>
      chunks.map(name => `    <link rel="modulepreload" href="static/${name}">\n`).join('') + line,
  )

const toEntry = (path, bytes, immutable) => [path, createAsset(path, bytes, { immutable })]

/** Every file the service serves to a browser, uncompressed: `[path, asset]`. Without options once per process. */
export const listAssets = options => {
  if (options) return list(options)
  whole ??= list()
  return whole
}

let whole

const list = async options => {
  const built = await bundleBrowser(options)
  const later = Object.values(FIRST_VIEWS)
  const { mainFile, files, chunksOf, fileOf } = await joinFirstLoad(built, MAIN, {
    ...options,
    later,
    after: AFTER_FIRST_VIEW,
  })
  const sheets = Object.entries(built.metafile.outputs).filter(([, { entryPoint }]) =>
    SHEETS.includes(entryPoint),
  )
  const names = new Map([
    ['main.js', mainFile],
    ...sheets.map(([path, { entryPoint }]) => [basename(entryPoint), basename(path)]),
    ...fontNames(built.metafile.outputs),
  ])
  const minify = options?.minify ?? true
  const [cells, cellsText, cellsOutput] = await bundleApart(CELLS, 'esm', minify)
  const cellsFile = cells.replace('main', 'cells')
  names.set('cells.js', cellsFile)
  const outputs = Object.entries(built.metafile.outputs).filter(([path]) => path.endsWith('.js'))
  const texts = splitTexts({
    scripts: files,
    mainFile,
    outputs: [...outputs.map(([path, output]) => [fileOf(path), output]), [cellsFile, cellsOutput]],
  })
  const publicDir = join(root, 'public')
  const assets = [...files, ...texts.files].map(([name, contents]) =>
    toEntry(`/static/${name}`, Buffer.from(contents), true),
  )
  const [firstRequest, firstRequestText] = await bundleApart(FIRST_REQUEST, 'iife', minify)
  assets.push(toEntry(`/static/${firstRequest}`, Buffer.from(firstRequestText), true))
  assets.push(toEntry(`/static/${cellsFile}`, Buffer.from(cellsText), true))
  assets.push(toEntry('/static/fonts-license.txt', Buffer.from(fontLicenses()), false))
  for (const path of readTree(publicDir)) {
    const name = relative(publicDir, path).split(sep).join('/')
    // Parts of documents begin with an underscore.
    if (CODE.has(extname(name)) || basename(name).startsWith('_')) continue
    if (name.startsWith('languages/')) continue
    const bytes = readFileSync(path)
    if (extname(name) === '.html') {
      const html = hashNames(withParts(bytes.toString(), path), names)
      const first = name === 'index.html' ? mainFile : cellsFile
      assets.push(toEntry(name, Buffer.from(withTextList(html, texts.listFor([first]))), false))
      if (name === 'index.html') {
        for (const [page, view] of Object.entries(FIRST_VIEWS)) {
          const chunks = chunksOf(view)
          const list = texts.listFor([mainFile, ...chunks])
          const whole = withTextList(withPreloads(html, chunks), list)
          const text = withFirstRequest(whole, firstRequest)
          const made =
            page === 'chat.html'
              ? withCodeFont(text, names.get('mono.woff2'))
              : withLazyStyle(text, names.get('lazy.css'))
          assets.push(toEntry(page, Buffer.from(made), false))
        }
      }
    } else {
      // Flat like the bundles: images and the manifest have folders in the sources only.
      assets.push(toEntry(`/static/${basename(name)}`, bytes, false))
    }
  }
  const chunks = viewChunks(built.metafile.outputs, MAIN).map(fileOf)
  const own = [...names.values()].filter(name => name !== cellsFile)
  const stored = [...new Set([...chunks, ...own, firstRequest, ...ICONS])].map(
    name => `static/${name}`,
  )
  const worker = await bundleWorker({ main: mainFile, files: stored, texts: texts.names }, options)
  assets.push(toEntry('sw.js', Buffer.from(worker), false))
  return { assets, metafile: built.metafile }
}

/** Assets of an unbuilt run: the same table, bundled at start, neither minified nor compressed. */
export const buildAssets = async () => new Map((await listAssets({ minify: false })).assets)
