/** Builds the service worker: one script with the names of the files that it stores. */
import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import * as esbuild from 'esbuild'
import { root } from './files.mjs'

const ENTRY = 'public/sw/worker.ts'
/** Libraries that the page itself is made with. */
const OF_THE_PAGE = /node_modules\/(?:preact|@preact|marked)\//

/** Mostly a library that few chats need, such as diagrams, formulas, the editor: stored when it is used. */
const isLibrary = ({ inputs }) => {
  const sizes = Object.entries(inputs).map(([path, { bytesInOutput }]) => ({
    bytes: bytesInOutput,
    isLibrary: path.includes('node_modules/') && !OF_THE_PAGE.test(path),
  }))
  const sum = list => list.reduce((total, { bytes }) => total + bytes, 0)
  return sum(sizes.filter(each => each.isLibrary)) > sum(sizes) / 2
}

/** The chunks of all views: those that `entry` imports, at once or later, without libraries and what needs them. */
export const viewChunks = (outputs, entry) => {
  const main = Object.keys(outputs).find(path => outputs[path].entryPoint === entry)
  const isNeeded = new Map()
  const visit = path => {
    if (isNeeded.has(path)) return isNeeded.get(path)
    isNeeded.set(path, true)
    const imports = outputs[path].imports.filter(({ external }) => !external)
    const parts = imports.filter(({ kind }) => kind === 'import-statement')
    const needsLibrary = parts.map(part => visit(part.path)).includes(false)
    isNeeded.set(path, !needsLibrary && !isLibrary(outputs[path]))
    if (isNeeded.get(path))
      for (const { path: next, kind } of imports) if (kind === 'dynamic-import') visit(next)
    return isNeeded.get(path)
  }
  visit(main)
  return [...isNeeded].filter(([, needed]) => needed).map(([path]) => path)
}

/** `main`: the script that only pages of this build request. `files`: below the scope of the worker. `texts`: those of one language, without its tag. */
export const bundleWorker = async ({ main, files, texts }, { minify = true } = {}) => {
  const id = createHash('sha256')
    .update(JSON.stringify([files, texts]))
    .digest('hex')
    .slice(0, 12)
  const { outputFiles } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: [ENTRY],
    bundle: true,
    format: 'iife',
    target: 'es2022',
    minify,
    write: false,
    legalComments: 'none',
    define: { BUILD: JSON.stringify({ id, main: basename(main), files, texts }) },
    logLevel: 'silent',
  })
  return outputFiles[0].text
}
