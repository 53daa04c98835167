/** What runs first in the one file and in the executable: unpacks the server's code and runs it, compiled already where this V8 is the one it was built with. */
import vm from 'node:vm'
import { openPacked } from '../lib/packed.ts'

/**
 * The code is a function of what a module would know by itself. Answers the script, from which `warm.mjs` takes what V8
 * has compiled; a cache that does not fit this V8 is passed over by it.
 */
export const launch = (packing, { selfUrl, selfDirectory, require }) => {
  const { code, compiled } = openPacked(packing, selfUrl).server()
  const script = new vm.Script(code, {
    filename: `${selfUrl}#server`,
    ...(compiled ? { cachedData: compiled } : {}),
  })
  const module = { exports: {} }
  script.runInThisContext()(require, module, module.exports, packing, selfUrl, selfDirectory)
  return script
}
