/** The arguments of `docker run` for a container that commands are executed in. */
import type { ContainerSettings } from './settings.ts'
import { IDLE } from './scripts.ts'

/** A file or folder of this computer inside the container. */
export type BindMount = { source: string; target: string; isReadOnly?: boolean }

export type RunPlan = {
  settings: ContainerSettings
  name: string
  labels: Readonly<Record<string, string>>
  mounts: readonly BindMount[]
  /** `uid:gid`; null: the user of the image. */
  user: string | null
  /** Limits of CPU, memory, and processes. */
  hasLimits: boolean
  hasDiskLimit: boolean
  /** SELinux would deny every access to what is mounted. */
  hasSelinux: boolean
}

/** HOME of commands, whatever user they run as. */
export const CONTAINER_HOME = '/root'
const MAX_PROCESSES = 512

/** One field of a `--mount`, which is a line of CSV. */
const field = (name: string, value: string): string => {
  const text = `${name}=${value}`
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

const mountArgument = ({ source, target, isReadOnly }: BindMount): string[] => [
  '--mount',
  [
    'type=bind',
    field('source', source),
    field('target', target),
    ...(isReadOnly ? ['readonly'] : []),
  ].join(','),
]

/** Root in a container gets what package managers need, and what is needed to write to folders of another owner. */
const ROOT_CAPABILITIES = ['DAC_OVERRIDE', 'CHOWN', 'FOWNER', 'SETUID', 'SETGID']

const securityArguments = ({ settings, user, hasSelinux }: RunPlan): string[] => [
  '--cap-drop',
  'ALL',
  ...(user === null || user.startsWith('0:')
    ? ROOT_CAPABILITIES.flatMap(name => ['--cap-add', name])
    : []),
  ...(settings.isSnap ? [] : ['--security-opt', 'no-new-privileges']),
  ...(hasSelinux ? ['--security-opt', 'label=disable'] : []),
  ...(user === null ? [] : ['--user', user]),
]

const limitArguments = ({ settings, hasLimits, hasDiskLimit }: RunPlan): string[] => {
  const { cpus, memoryMb, diskMb, shmSize } = settings
  return [
    ...(hasLimits
      ? [
          ...(cpus > 0 ? ['--cpus', String(cpus)] : []),
          ...(memoryMb > 0 ? ['--memory', `${memoryMb}m`] : []),
          '--pids-limit',
          String(MAX_PROCESSES),
        ]
      : []),
    ...(hasDiskLimit && diskMb > 0 ? ['--storage-opt', `size=${diskMb}m`] : []),
    ...(shmSize === '' || settings.extraArgs.some(arg => arg.startsWith('--shm-size'))
      ? []
      : ['--shm-size', shmSize]),
  ]
}

/** No environment and no secret is among them: commands get their environment when they are executed. */
export const runArguments = (plan: RunPlan): string[] => {
  const { settings, name, labels, mounts } = plan
  return [
    'run',
    '--detach',
    '--pull',
    'never',
    '--name',
    name,
    ...Object.entries(labels).flatMap(([key, value]) => ['--label', `${key}=${value}`]),
    ...securityArguments(plan),
    ...limitArguments(plan),
    ...(settings.hasNetwork ? [] : ['--network', 'none']),
    ...(settings.keepsHome ? [] : ['--tmpfs', `${CONTAINER_HOME}:rw,exec,mode=1777,size=1g`]),
    '--tmpfs',
    '/var/tmp:rw,nosuid,mode=1777,size=256m',
    ...mounts.flatMap(mountArgument),
    ...settings.volumes.flatMap(({ source, target, options }) => [
      '--volume',
      [source, target, ...(options ? [options] : [])].join(':'),
    ]),
    ...settings.extraArgs,
    '--entrypoint',
    'sh',
    settings.image,
    '-c',
    IDLE,
  ]
}
