/** Launcher of the single file and the executable: unpacks the server's code part by part when it is needed, and runs it with its V8 code caches if they fit. */
import vm from 'node:vm'
import { preventExitHang } from '../lib/app/exit-hang.ts'
import { openPacked } from '../lib/packed.ts'

/** The part that runs first. */
export const ENTRY = './router.js'

/**
 * Loads parts, each once: functions whose parameters replace the variables of a module. `read` returns the code of a part, or
 * undefined when there is no part of this name; `scripts` is filled with what was loaded.
 */
export const createLoader = ({ read, packed, selfUrl, selfDirectory, require }) => {
  const modules = new Map()
  const scripts = new Map()

  const load = name => {
    const loaded = modules.get(name)
    if (loaded) return loaded.exports
    const part = read(name)
    if (!part) return undefined
    const script = new vm.Script(part.code, {
      filename: `${selfUrl}#${name.slice(2)}`,
      ...(part.compiled ? { cachedData: part.compiled } : {}),
    })
    scripts.set(name, script)
    const module = { exports: {} }
    // Before it runs: parts may import each other.
    modules.set(name, module)
    script.runInThisContext()(requirePart, module, module.exports, packed, selfUrl, selfDirectory)
    return module.exports
  }

  const requirePart = Object.assign(
    name => (name.startsWith('./') && load(name)) || require(name),
    { resolve: require.resolve },
  )
  return { load, scripts }
}

/** Returns the scripts of the parts that are loaded, from which `warm.mjs` creates the V8 code caches. V8 ignores a cache of another version. */
export const launch = (packing, self) => {
  // Before the first part: a code cache fits only the flags it was made with.
  preventExitHang()
  const packed = openPacked(packing, self.selfUrl)
  const { load, scripts } = createLoader({ read: packed.server, packed, ...self })
  load(ENTRY)
  return scripts
}
