/** Settings of the container that commands run in (`terminal.*`). A value that is not understood is a problem, never a default. */
import { isAbsolute, join, normalize } from 'node:path'
import { fromSeconds } from '../../base/clock.ts'
import { isObject, type JsonObject } from '../../base/json.ts'
import { yamlFlag, yamlWord } from '../../store/yaml-file.ts'

export type Engine = 'docker' | 'podman'

/** A volume as docker's `-v` takes it. Only a source with a slash is a path of this computer; others are named volumes. */
export type Volume = { source: string; target: string; options: string }

export type ContainerSettings = {
  /** `docker` falls back to podman where only that is installed. */
  engine: Engine
  image: string
  /** CPUs and megabytes; 0: no limit. */
  cpus: number
  memoryMb: number
  diskMb: number
  /** Limits that the file names: they are applied, or commands are refused. Defaults apply where the system allows them. */
  namedLimits: ReadonlySet<'container_cpu' | 'container_memory' | 'container_disk'>
  /** Blank: the engine's default. */
  shmSize: string
  hasNetwork: boolean
  volumes: readonly Volume[]
  /** Variables of every command, and names of variables of this computer that it gets as well. */
  env: Readonly<Record<string, string>>
  forwards: readonly string[]
  /** The workspace also has the name `/workspace`. */
  hasWorkspaceAlias: boolean
  /** Undefined: so that new files belong to the user. False: the user of the image. */
  runsAsHostUser: boolean | undefined
  /** The home directory of commands outlasts the container. */
  keepsHome: boolean
  /** The container outlasts the service: it is stopped, and started again later. */
  outlasts: boolean
  /** Containers of a service that was killed are removed. */
  removesLeftovers: boolean
  /** Added to `docker run` as they are, so nothing is known about what the container can reach. */
  extraArgs: readonly string[]
  /** Docker of the snap store: no `no-new-privileges`. */
  isSnap: boolean
  /** An unused container is removed after this time. */
  idleMs: number
  /** Where homes of containers are kept. */
  dir: string
}

/** The image of the host agent, so that both run commands in the same one. */
const DEFAULT_IMAGE = 'nikolaik/python-nodejs:python3.11-nodejs20'

/** The backends that are containers; anything else is refused by the guards. */
export const engineOf = (backend: unknown): Engine | null => {
  const word = yamlWord(backend)
  return word === 'docker' || word === 'podman' ? word : null
}

const VARIABLE = /^[A-Za-z_]\w*$/

/** Flags that this service sets itself. A second one would contradict it, or the service would lose the container. */
const OURS =
  /^(?:-d|-i|-t|-it|-w|--(?:name|entrypoint|rm|detach|interactive|tty|cidfile|workdir|pull|label-file|restart))(?:=|$)/
const NETWORK = /^--net(?:work)?(?:=|$)/

/** Reads the keys of `terminal`. Throws a sentence that names the key. */
class TerminalKeys {
  readonly #values: Readonly<JsonObject>

  constructor(values: Readonly<JsonObject>) {
    this.#values = values
  }

  refuse(key: string, what: string): never {
    throw new Error(`terminal.${key} ${what}`)
  }

  isSet(key: string): boolean {
    const value = this.#values[key]
    return !(value === undefined || value === null || (typeof value === 'string' && !value.trim()))
  }

  list(key: string): string[] {
    const value = this.isSet(key) ? this.#values[key] : []
    const items = typeof value === 'string' ? value.split(',') : value
    if (!Array.isArray(items) || !items.every(each => typeof each === 'string'))
      return this.refuse(key, 'must be a list of texts.')
    return items.map(each => each.trim()).filter(each => each !== '')
  }

  flag<T extends boolean | undefined>(key: string, fallback: T): boolean | T {
    if (!this.isSet(key)) return fallback
    return yamlFlag(this.#values[key]) ?? this.refuse(key, 'must be true or false.')
  }

  number(key: string, fallback: number): number {
    if (!this.isSet(key)) return fallback
    const value =
      typeof this.#values[key] === 'string' ? Number(this.#values[key]) : this.#values[key]
    return typeof value === 'number' && Number.isFinite(value) && value >= 0
      ? value
      : this.refuse(key, 'must be a number, 0 or above.')
  }

  text(key: string, fallback: string): string {
    const value = this.#values[key]
    if (value === undefined || value === null) return fallback
    return typeof value === 'string' || typeof value === 'number'
      ? String(value).trim()
      : this.refuse(key, 'must be text.')
  }
}

const volumesOf = (keys: TerminalKeys, userHome: string): Volume[] =>
  keys.list('docker_volumes').map(text => {
    const [raw = '', target = '', options = '', ...more] = text.split(':')
    if (!raw || !isAbsolute(target) || more.length > 0)
      return keys.refuse(
        'docker_volumes',
        `has "${text}", which is not of the form /path/here:/path/there, with :ro at the end for read-only.`,
      )
    const source = raw.replace(/^~(?=\/|$)/, () => userHome)
    if (source.startsWith('.'))
      return keys.refuse('docker_volumes', `has the relative path ${raw}. Write an absolute one.`)
    return { source: source.includes('/') ? normalize(source) : source, target, options }
  })

const environmentOf = (
  keys: TerminalKeys,
  terminal: Readonly<JsonObject>,
): Record<string, string> => {
  const value = terminal.docker_env ?? {}
  if (!isObject(value)) return keys.refuse('docker_env', 'must be a mapping from names to values.')
  return Object.fromEntries(
    Object.entries(value).map(([name, raw]) => {
      if (!VARIABLE.test(name))
        return keys.refuse('docker_env', `has "${name}", which is no name of a variable.`)
      if (!['string', 'number', 'boolean'].includes(typeof raw))
        return keys.refuse('docker_env', `has a value for ${name} that is no text.`)
      return [name, String(raw)]
    }),
  )
}

const extraArgsOf = (keys: TerminalKeys, hasNetwork: boolean): string[] => {
  const args = keys.list('docker_extra_args')
  const ours = args.find(arg => OURS.test(arg))
  if (ours !== undefined)
    return keys.refuse('docker_extra_args', `has ${ours}, which this service sets itself.`)
  // Both cannot be meant, and the weaker one must not win.
  if (!hasNetwork && args.some(arg => NETWORK.test(arg)))
    return keys.refuse('docker_extra_args', 'names a network, but terminal.docker_network is off.')
  return args
}

const LIMITS = ['container_cpu', 'container_memory', 'container_disk'] as const

export type SettingsPlace = {
  /** The home of the profile. */
  dir: string
  userHome: string
  /** The engine of `terminal.backend`, or of the older places of it. */
  engine: Engine
}

/** Throws a sentence that names the key which is not understood or not supported. */
export const readContainerSettings = (
  terminal: Readonly<JsonObject>,
  { dir, userHome, engine }: SettingsPlace,
): ContainerSettings => {
  const keys = new TerminalKeys(terminal)
  if (keys.isSet('docker_shared_container_key'))
    keys.refuse(
      'docker_shared_container_key',
      'is not supported: each profile has containers of its own.',
    )
  const hasNetwork = keys.flag('docker_network', true)
  const forwards = keys.list('docker_forward_env')
  const invalid = forwards.find(name => !VARIABLE.test(name))
  if (invalid !== undefined)
    keys.refuse('docker_forward_env', `has "${invalid}", which is no name of a variable.`)
  const root = keys.text('sandbox_dir', '').replace(/^~(?=\/|$)/, () => userHome)
  if (root !== '' && !isAbsolute(root)) keys.refuse('sandbox_dir', 'must be an absolute path.')
  const shmSize = keys.text('docker_shm_size', '1g')
  return {
    engine,
    image: keys.text('docker_image', '') || DEFAULT_IMAGE,
    cpus: keys.number('container_cpu', 1),
    memoryMb: keys.number('container_memory', 5_120),
    diskMb: keys.number('container_disk', 51_200),
    namedLimits: new Set(LIMITS.filter(key => keys.isSet(key))),
    shmSize: shmSize === '0' ? '' : shmSize,
    hasNetwork,
    volumes: volumesOf(keys, userHome),
    env: environmentOf(keys, terminal),
    forwards,
    hasWorkspaceAlias: keys.flag('docker_mount_cwd_to_workspace', false),
    runsAsHostUser: keys.flag('docker_run_as_host_user', undefined),
    keepsHome: keys.flag('container_persistent', true),
    outlasts: keys.flag('docker_persist_across_processes', false),
    removesLeftovers: keys.flag('docker_orphan_reaper', true),
    extraArgs: extraArgsOf(keys, hasNetwork),
    isSnap: keys.flag('docker_snap_compat', false),
    idleMs: fromSeconds(keys.number('lifetime_seconds', 300)),
    dir: join(root || join(dir, 'sandboxes'), 'docker', 'agent-webui'),
  }
}
