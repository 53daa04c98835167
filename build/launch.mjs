/** Launcher of the single file and the executable: unpacks the server's code part by part when it is needed, and runs it with its V8 code caches if they fit. */
import vm from 'node:vm'
import { setV8Flags } from '../lib/app/v8-flags.ts'
import { isExecutable, openPacked } from '../lib/store/packed.ts'
import { BRIDGE_ARGUMENT, BRIDGE_CODE } from '../lib/commands/sandbox/network-bridge.ts'

/** The part that runs first. */
export const ENTRY = './router.js'
/** What the names of parts begin with that are loaded when something of them is used. */
export const LATE = './late-'
/** The name of the script with the first parts. */
export const STARTUP = './startup.js'

/** Modules of Node that a start does not need. Each takes one to four milliseconds. */
const LATE_BUILTINS = new Set([
  'node:child_process',
  'node:dns/promises',
  'node:fs/promises',
  'node:https',
  'node:stream/consumers',
  'node:stream/promises',
  'node:stream/web',
  'node:timers/promises',
  'node:tls',
  'node:worker_threads',
])

/** Loads the module when something of it is used. */
const lateModule = load =>
  new Proxy(
    {},
    {
      get: (_, key) => load()[key],
      has: (_, key) => key in load(),
      ownKeys: () => Reflect.ownKeys(load()),
      // A proxy may not call a property fixed that its target lacks.
      getOwnPropertyDescriptor(_, key) {
        const found = Object.getOwnPropertyDescriptor(load(), key)
        return found && { ...found, configurable: true }
      },
    },
  )

/**
 * Loads parts, each once: functions whose parameters replace the variables of a module. `startup` is the script with those that
 * every start loads, `read` returns the code of another part, or undefined when there is none of this name; `scripts` is filled
 * with what was compiled.
 */
export const createLoader = ({ startup, read, packed, selfUrl, selfDirectory, require }) => {
  const modules = new Map()
  const scripts = new Map()

  const run = (name, { code, compiled }) => {
    const script = new vm.Script(code, {
      filename: `${selfUrl}#${name.slice(2)}`,
      ...(compiled ? { cachedData: compiled } : {}),
    })
    scripts.set(name, script)
    return script.runInThisContext()
  }
  const first = startup ? run(STARTUP, startup) : {}

  const functionOf = name => {
    if (first[name]) return first[name]
    const part = read(name)
    return part && run(name, part)
  }

  const load = name => {
    const loaded = modules.get(name)
    if (loaded) return loaded.exports
    const fill = functionOf(name)
    if (!fill) return undefined
    const module = { exports: {} }
    // Before it runs: parts may import each other.
    modules.set(name, module)
    try {
      fill(requirePart, module, module.exports, packed, selfUrl, selfDirectory)
    } catch (error) {
      // The next load fails in the same way, instead of giving half of the part.
      modules.delete(name)
      throw error
    }
    return module.exports
  }

  const requirePart = Object.assign(
    name => {
      if (LATE_BUILTINS.has(name)) return lateModule(() => require(name))
      if (name.startsWith(LATE)) return lateModule(() => load(name))
      return (name.startsWith('./') && load(name)) || require(name)
    },
    { resolve: require.resolve },
  )
  return { load, scripts }
}

/** Returns the scripts that are loaded, from which `warm.mjs` creates the V8 code caches. V8 ignores a cache of another version. */
export const launch = (packing, self) => {
  // In a sandbox, before every command: nothing else is unpacked.
  if (isExecutable() && process.argv[2] === BRIDGE_ARGUMENT) {
    vm.runInThisContext(`(() => {${BRIDGE_CODE}})()`)
    return new Map()
  }
  // Before the first part: a code cache fits only the flags it was made with.
  setV8Flags()
  const packed = openPacked(packing, self.selfUrl)
  const startup = packed.startup()
  const { load, scripts } = createLoader({ startup, read: packed.server, packed, ...self })
  load(ENTRY)
  return scripts
}
