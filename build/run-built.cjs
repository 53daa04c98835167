/**
 * `node run-built.cjs FILE [argument …]`: runs a built file as `node FILE` does, without reading all of it: Node would read the
 * payload as well, 10 MB, and V8 would keep it as source. CommonJS, because a start without Node's loader of modules takes 15 ms
 * less. Runs on any Node.
 */
const { closeSync, openSync, readSync } = require('node:fs')
const { dirname, resolve } = require('node:path')
const { pathToFileURL } = require('node:url')
const vm = require('node:vm')

/** Between the launcher and the payload. */
const PAYLOAD_MARK = '\n// Payload\n/*'

/** esbuild breaks long lines between any two tokens. */
const OWN_PLACE = /\bimport\s*\.\s*meta\s*\.\s*(url|dirname)\b/g

/** More than a launcher has. */
const HEAD_BYTES = 64 * 1024

const readHead = file => {
  const fd = openSync(file, 'r')
  try {
    const head = Buffer.alloc(HEAD_BYTES)
    return head.toString('utf8', 0, readSync(fd, head))
  } finally {
    closeSync(fd)
  }
}

/** Runs the launcher of a built file, which has no `import` and no `export`. False when the file is none. */
const runLauncher = file => {
  const [launcher, payload] = readHead(file).split(PAYLOAD_MARK, 2)
  if (payload === undefined) return false
  const url = pathToFileURL(file).href
  const own = { url: JSON.stringify(url), dirname: JSON.stringify(dirname(file)) }
  // After its first line, which names Node. A module is strict, and its variables are no globals.
  const code = launcher.slice(launcher.indexOf('\n'))
  const text = code.replaceAll(OWN_PLACE, (_, name) => own[name])
  vm.runInThisContext(`(function () {'use strict';\n${text}\n})`, { filename: url })()
  return true
}

module.exports = { PAYLOAD_MARK, HEAD_BYTES }

if (require.main === module) {
  process.argv.splice(1, 1)
  const file = resolve(process.argv[1])
  process.argv[1] = file
  if (!runLauncher(file)) import(pathToFileURL(file).href)
}
