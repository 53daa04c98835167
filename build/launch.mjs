/** Launcher of the single file and the executable: unpacks the server's code and runs it, with its V8 code cache if that fits. */
import vm from 'node:vm'
import { openPacked } from '../lib/packed.ts'

/**
 * The code is a function whose parameters replace the variables of a module. Returns the script, from which `warm.mjs` creates the
 * V8 code cache. V8 ignores a cache of another version.
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
