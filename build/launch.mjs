/** Launcher of the single file and the executable: unpacks the server's code part by part when it is needed, and runs it with its V8 code caches if they fit. */
import vm from 'node:vm'
import { setV8Flags } from '../lib/app/v8-flags.ts'
import { isExecutable, openPacked } from '../lib/store/packed.ts'
import { BRIDGE_ARGUMENT, BRIDGE_CODE } from '../lib/commands/sandbox/network-bridge.ts'

/** The part that runs first. */
export const ENTRY = './part-router.js'

/** Calls `add` for each export of a module: its name and a function that returns it. */
const eachProperty = (module, add) => {
  for (const key of Object.getOwnPropertyNames(module))
    if (key !== 'default') add(key, () => module[key])
}

const defineGetter = (target, name, get) =>
  Object.defineProperty(target, name, { get, enumerable: true })

/** The functions that esbuild would write into each part. */
const exportAll = (target, getters) => {
  for (const name in getters) defineGetter(target, name, getters[name])
}

const copies = new WeakMap()

/** What `import` gives of what `require` returns: modules of Node and CommonJS packages are their own default export. */
const toModule = required => {
  if (required.__esModule) return required
  const known = copies.get(required)
  if (known) return known
  const copy = Object.create(Object.getPrototypeOf(required))
  Object.defineProperty(copy, 'default', { value: required, enumerable: true })
  eachProperty(required, (name, get) => defineGetter(copy, name, get))
  copies.set(required, copy)
  return copy
}

/**
 * Loads parts, each once: functions whose parameters replace the variables of a module. `read` returns the script that has the
 * part of this name, or undefined when there is none; `onScript` gets each that is compiled, and `onPart` the name of each part that runs.
 */
export const createLoader = ({
  read,
  packed,
  selfUrl,
  selfDirectory,
  require,
  onScript,
  onPart,
}) => {
  const modules = new Map()
  const functions = new Map()

  const functionOf = name => {
    const known = functions.get(name)
    if (known) return known
    const found = read(name)
    if (!found) return undefined
    const { script: of, code, compiled } = found
    const script = new vm.Script(code, {
      filename: `${selfUrl}#${of}`,
      ...(compiled ? { cachedData: compiled } : {}),
    })
    onScript?.(of, script)
    const parts = script.runInThisContext()
    for (const part in parts) functions.set(part, parts[part])
    return functions.get(name)
  }

  const load = name => {
    const loaded = modules.get(name)
    if (loaded) return loaded.exports
    const fill = functionOf(name)
    if (!fill) return undefined
    const module = { exports: Object.defineProperty({}, '__esModule', { value: true }) }
    // Before it runs: parts may import each other.
    modules.set(name, module)
    onPart?.(name)
    try {
      fill(requirePart, module, module.exports, exportAll, toModule, packed, selfUrl, selfDirectory)
    } catch (error) {
      // The next load fails in the same way, instead of giving half of the part.
      modules.delete(name)
      throw error
    }
    return module.exports
  }

  const requirePart = Object.assign(
    name => (name.startsWith('./') && load(name)) || require(name),
    { resolve: require.resolve },
  )
  return load
}

/** `watch`: see `createLoader`. V8 ignores a code cache of another version. */
export const launch = (packing, self, watch = {}) => {
  // In a sandbox, before every command: nothing else is unpacked.
  if (isExecutable() && process.argv[2] === BRIDGE_ARGUMENT) {
    vm.runInThisContext(`(() => {${BRIDGE_CODE}})()`)
    return
  }
  // Before the first part: a code cache fits only the flags it was made with.
  setV8Flags()
  const packed = openPacked(packing, self.selfUrl)
  const read = name => (name === ENTRY ? packed.first() : packed.server(name))
  createLoader({ read, packed, ...self, ...watch })(ENTRY)
}
