/**
 * The keys of config.yaml for where commands run: the sandbox, or a container. lib/commands/containers reads those of containers:
 * a value it does not understand refuses commands.
 */
import { isHostPattern } from '../base/host-pattern.ts'
import { yamlFlag, yamlWord } from '../store/yaml-file.ts'
import { commaTexts, custom, raw, section } from './config-schema-helpers.ts'

const key = (type: string, fallback: string, description: string) =>
  raw({ type, default: fallback, description })

/** Below `terminal`. */
export const containerKeys = {
  docker_image: key(
    'text',
    'nikolaik/python-nodejs:python3.11-nodejs20',
    'Image of the container. It is downloaded when it is missing.',
  ),
  container_cpu: key('a number', '1', 'CPUs of the container; 0: no limit.'),
  container_memory: key('a number', '5120', 'Memory of the container in MB; 0: no limit.'),
  container_disk: key(
    'a number',
    '51200',
    'Disk space of the container in MB; 0: no limit. Where the storage driver cannot limit it, commands are refused, except with this default.',
  ),
  container_persistent: key(
    'true or false, strictly',
    'true',
    'Keep the home directory of commands (`sandboxes/docker/agent-webui/home` in the profile).',
  ),
  docker_network: key('true or false, strictly', 'true', 'Whether the container has a network.'),
  docker_volumes: key(
    'a list of texts',
    '',
    'More folders, as `/here:/there` or `/here:/there:ro`.',
  ),
  docker_env: key('a mapping from name to text', '', 'Variables of commands in the container.'),
  docker_forward_env: key(
    'a list of names',
    '',
    'Variables of this computer that commands in the container get.',
  ),
  docker_mount_cwd_to_workspace: key(
    'true or false, strictly',
    'false',
    'The workspace is also `/workspace` in the container. It always has its own path there.',
  ),
  docker_run_as_host_user: key(
    'true or false, strictly',
    'so that files belong to you',
    'Whether commands run with your user id. False: as the user of the image.',
  ),
  docker_persist_across_processes: key(
    'true or false, strictly',
    'false',
    'Stop the container at the end of the service instead of removing it, and start it again. Other settings mean another container.',
  ),
  docker_orphan_reaper: key(
    'true or false, strictly',
    'true',
    'At the start, remove containers that a killed service has left, and stopped ones of earlier settings.',
  ),
  docker_shm_size: key('text', '1g', 'Size of /dev/shm in the container; 0: that of the engine.'),
  docker_extra_args: key(
    'a list of texts',
    '',
    'More arguments of `docker run`. With them, commands are asked about as if they shared folders.',
  ),
  docker_snap_compat: key(
    'true or false, strictly',
    'false',
    'For docker of the snap store: without `no-new-privileges`.',
  ),
  docker_shared_container_key: key('text', '', 'Not supported: a value refuses commands.'),
  lifetime_seconds: key('a number', '300', 'An unused container is removed after this time.'),
  sandbox_dir: key(
    'a path',
    '`sandboxes` in the profile',
    'Where home directories of containers are.',
  ),
}

export const sandboxKeys = {
  sandbox: section(
    {
      enabled: custom<boolean | 'auto'>({
        type: 'true, false, or auto',
        description:
          'Run commands in a sandbox (bubblewrap, on macOS sandbox-exec): they can change the workspace only. `auto`: wherever it works when the service starts. With true, commands are refused where it does not work.',
        fallback: 'auto',
        read: value => (yamlWord(value) === 'auto' ? 'auto' : yamlFlag(value)),
      }),
      network: custom<boolean | string[]>({
        type: 'true, false, or a list of texts',
        description:
          'What commands in the sandbox reach without a question: a list of hosts such as `registry.npmjs.org`, `*.github.com` or `db.example:5432`; false: nothing; true: all of the network, that of this computer included.',
        fallback: false,
        read: value =>
          Array.isArray(value)
            ? value.filter(each => typeof each === 'string').map(each => each.trim())
            : (yamlFlag(value) ??
              (typeof value === 'string' && isHostPattern(value) ? [value] : undefined)),
      }),
      readable: commaTexts(
        'More files and folders that commands may read; `~` is your home directory.',
      ),
      writable: commaTexts('More files and folders that commands may change.'),
      hidden: commaTexts('Files and folders that commands and file tools never see.'),
    },
    'enabled',
  ),
}
