/** Classifies paths in commands: control file, secret, system, workspace, or elsewhere. */
import { resolve } from 'node:path/posix'
import { readdirSync } from 'node:fs'
import { createDisk, type Disk } from './disk.ts'
import { DATA, hasUnknown, UNKNOWN } from './syntax.ts'
import type { ShellContext } from './types.ts'

/** In a home directory: keys, logins, histories. */
const SECRET_AT_HOME =
  /^(?:\.ssh\/(?!known_hosts|config$|[^/]*\.pub$)[^/]|\.ssh\/?\*|\.aws\/(?:credentials|\*|sso|cli\/cache|$)|\.gnupg(?:\/|$)|\.kube\/(?:config|cache|\*)|\.docker\/config\.json|\.azure(?:\/|$)|\.config\/(?:gh\/hosts|gcloud|op|hub|rclone|doctl|heroku|stripe|git\/credentials|google-chrome|chromium|BraveSoftware|microsoft-edge|vivaldi|opera|sops|age|filezilla|1Password)|\.(?:netrc|pgpass|my\.cnf|mylogin\.cnf|git-credentials|npmrc|yarnrc\.yml|pypirc|vault-token|boto|s3cfg|htpasswd|authinfo(?:\.gpg)?|terraformrc|bash_history|zsh_history|histfile|psql_history|mysql_history|python_history|node_repl_history|sqlite_history|lesshst|viminfo|password-store|dockercfg|fetchmailrc|msmtprc|muttrc|cargo\/credentials(?:\.toml)?|gem\/credentials|terraform\.d\/credentials[^/]*|composer\/auth\.json|m2\/settings(?:-security)?\.xml|gradle\/gradle\.properties|mozilla|thunderbird|electrum|bitcoin|ethereum|claude\.json|claude\/\.credentials\.json|codex\/auth\.json|gemini\/oauth_creds\.json|local\/share\/(?:keyrings|kwalletd|fish\/fish_history|gnupg))(?:\/|$)|Library\/(?:Keychains|Cookies|Application Support\/(?:Google\/Chrome|Firefox|BraveSoftware|Chromium|com\.apple\.TCC)))/i
const SECRET_ANYWHERE =
  /(?:^|\/)\.env(?:\.(?!example$|sample$|template$|dist$|test$|defaults$|schema$|d\.ts$)[\w.-]+)?$|(?:^|\/)\.envrc$|(?:^|\/)(?:id_(?:rsa|dsa|ecdsa|ed25519)(?:_\w+)?|credentials\.json|service[-_]account[^/]*\.json|secrets?\.(?:json|ya?ml|toml|env)|[^/]+\.(?:keystore|jks|p12|pfx|kdbx|ppk))$|(?:^|\/)(?:\.git-credentials|\.netrc|\.pgpass|\.npmrc|\.pypirc|\.htpasswd)$|(?:^|\/)\.aws\/credentials|(?:^|\/)\.(?:agent|hermes)\/(?:[^/]+\/)*(?:\.env|auth\.json)$|(?:^|\/)\.ssh\/(?!known_hosts|config$|[^/]*\.pub$)[^/]/i
const SECRET_OF_SYSTEM =
  /^(?:\/private)?\/etc\/(?:shadow|gshadow|sudoers|master\.passwd|ssl\/private|ssh\/ssh_host|security\/opasswd|krb5\.keytab|NetworkManager\/system-connections|wireguard|openvpn|kubernetes|rancher)|^\/proc\/(?:[^/]+\/)+(?:environ|mem|cmdline|maps|fd|root|cwd)(?:\/|$)|^\/proc\/(?:kcore|kmem)|^\/dev\/(?:k?mem|port)$|^\/(?:var\/)?run\/(?:docker\.sock|secrets)|^\/var\/(?:lib\/(?:kubelet|docker|pgsql|mysql|redis)|run\/secrets|backups|log\/(?:auth|secure))|^\/root(?:\/|$)/

/** In a home directory: files that run on the next login or with another program. */
const STARTUP_AT_HOME =
  /^(?:\.(?:bash(?:rc|_profile|_login|_logout|_aliases)|profile|z(?:shrc|shenv|profile|login|logout)|inputrc|xinitrc|xprofile|xsession|vimrc|exrc|emacs|tmux\.conf|screenrc|gitconfig|npmrc|pythonrc|irbrc|gdbinit|lldbinit|condarc|curlrc|wgetrc|nanorc|hgrc|pam_environment|forward|procmailrc|crontab)|\.ssh|\.config\/(?:fish|systemd|autostart|git|environment\.d|nvim|pip|plasma-workspace)|\.(?:vim|emacs\.d|oh-my-zsh|gnupg|local\/bin|local\/share\/(?:applications|systemd|dbus-1)|git-templates|cargo\/(?:bin|config(?:\.toml)?|env)|ipython|jupyter|docker|kube|aws)|bin|Library\/(?:LaunchAgents|LaunchDaemons|Application Support\/[^/]+\/Startup))(?:\/|$)/
const SYSTEM =
  /^\/(?:private\/)?(?:etc|boot|proc|sys|dev|usr|bin|sbin|lib\d*|opt|var|root|run|srv|snap|nix|Applications|System|Library|Windows)(?:\/|$)/i
const HARMLESS_DEVICE = /^\/dev\/(?:null|zero|full|std(?:in|out|err)|tty|fd\/.*|u?random)$/

const TEMPORARY = /^\/(?:private\/)?(?:tmp|var\/tmp|var\/folders)(?:\/|$)|^\/dev\/shm(?:\/|$)/

export type PathKind =
  | 'workspace'
  | 'temporary'
  | 'device'
  | 'startup'
  | 'system'
  | 'outside'
  | 'unknown'

/** `/proc/self/root/etc` is `/etc`. */
const throughProcess = (path: string, cwd: string | null): string => {
  const [link, kind] = /^\/+proc\/+[^/]+\/+(?:task\/+[^/]+\/+)?(root|cwd)(?=\/)/.exec(path) ?? []
  if (link === undefined) return path
  if (kind === 'root')
    return throughProcess(`/${path.slice(link.length)}`.replace(/^\/+/, '/'), cwd)
  return /^\/+proc\/+(?:self|thread-self)\//.test(path) && cwd !== null
    ? `${cwd}${path.slice(link.length)}`
    : path
}

/** Absolute path with `~` and `..` resolved; null if unknown before run time. */
export const absolute = (
  path: string,
  cwd: string | null,
  { home }: ShellContext,
): string | null => {
  if (path.startsWith(UNKNOWN)) return null
  // The working directory, and the one before it, which is not tracked.
  const [stack, sign] = /^~([+-])(?=\/|$)/.exec(path) ?? []
  if (stack !== undefined)
    return sign === '-' || cwd === null ? null : resolve(cwd, `.${path.slice(stack.length)}`)
  const full = throughProcess(path.replace(/^~(?=\/|$)/, home), cwd)
  if (/^~[\w.-]+/.test(full)) return resolve('/home', full.slice(1))
  if (full.startsWith('/')) return resolve(full)
  return cwd === null ? null : resolve(cwd, full)
}

const below = (home: string, path: string): string | null =>
  path.startsWith(`${home}/`)
    ? path.slice(home.length + 1)
    : (/^\/(?:home|Users)\/[^/]+\/(.*)$/.exec(path)?.[1] ??
      /^\/root\/(.*)$/.exec(path)?.[1] ??
      (path === home ? '' : null))

/** As in the shell, `*` doesn't match a leading dot. */
const globRegex = (glob: string): RegExp | null => {
  // So many wildcards match nearly everything, and matching them is too slow.
  if ((glob.match(/[*?[]/g)?.length ?? 0) > 8) return /^/
  try {
    return new RegExp(
      `^${glob
        .replace(/[.+^${}()|\\]/g, '\\$&')
        .replace(/(^|\/)\*+/g, '$1(?!\\.)[^/]*')
        .replace(/\*+/g, '[^/]*')
        .replace(/\?/g, '[^/]')
        .replace(/\[!/g, '[^')}$`,
    )
  } catch {
    // An unclosed bracket is literal.
    return null
  }
}

const SECRET_NAMES =
  '.env .env.local .env.production .netrc .npmrc .pgpass .git-credentials .bash_history .zsh_history .ssh/id_rsa .ssh/id_ed25519 .ssh/id_ecdsa .aws/credentials .kube/config .docker/config.json .pypirc .gnupg/secring.gpg .config/gh/hosts.yml .vault-token'.split(
    ' ',
  )

/** True for files with keys or logins, and directories that contain only those. */
export const isSecret = (path: string, context: ShellContext): boolean => {
  const rest = below(context.home, path)
  if (SECRET_OF_SYSTEM.test(path) && !/^\/proc\/(?:cpuinfo|meminfo)/.test(path)) {
    // /root may be the user's home.
    if (!/^\/root(?:\/|$)/.test(path) || !context.home.startsWith('/root')) return true
  }
  if (SECRET_ANYWHERE.test(path)) return true
  if (rest !== null && SECRET_AT_HOME.test(rest)) return true
  if (rest !== null && /^\.(?:ssh|aws|kube|docker)\/?$/.test(rest)) return true
  if (!/[*?[]/.test(path)) return false
  const pattern = globRegex(path)
  if (!pattern) return false
  const dir = path.slice(0, path.search(/[*?[]/)).replace(/[^/]*$/, '')
  return (
    SECRET_NAMES.some(
      name =>
        pattern.test(`${context.home}/${name}`) ||
        (!name.includes('/') && name.startsWith('.env') && pattern.test(`${dir}${name}`)),
    ) ||
    ['/etc/shadow', '/etc/sudoers', '/etc/gshadow', '/proc/self/environ', '/proc/1/environ'].some(
      name => pattern.test(name),
    )
  )
}

const isWithin = (root: string, path: string): boolean =>
  path === root || path.startsWith(root.endsWith('/') ? root : `${root}/`)

/** Each path is resolved once per classification: a script can contain hundreds, each compared with every control path. */
const reallyInside = (root: string, path: string, { disk = createDisk() }: ShellContext): boolean =>
  isWithin(disk.realPath(root), disk.realPath(path))

/**
 * The workspace, and the directory that the command starts in where that is another name for a part of it: below a
 * workspace that is a symlink, for example.
 */
const workspaceRoots = (context: ShellContext): string[] => {
  const { cwd, workspace = cwd } = context
  return cwd !== workspace && reallyInside(workspace, cwd, context) ? [workspace, cwd] : [workspace]
}

/** The kind of a path that is written or deleted. */
export const kindOf = (path: string, cwd: string | null, context: ShellContext): PathKind => {
  if (path === '-' || path === '') return 'device'
  const full = absolute(path, cwd, context)
  const workspace = context.workspace ?? context.cwd
  if (full === null || path.startsWith(UNKNOWN))
    return path === DATA || path.startsWith(DATA) ? 'workspace' : 'unknown'
  if (HARMLESS_DEVICE.test(full)) return 'device'
  const rest = below(context.home, full)
  if (rest !== null && STARTUP_AT_HOME.test(rest) && !isWithin(`${context.home}/bin`, workspace))
    return 'startup'
  if (workspaceRoots(context).some(root => isWithin(root, full))) {
    // A symlink may lead outside; names that don't exist yet stay as they are.
    const isReal = !hasUnknown(full) && !/[*?[]/.test(full)
    return !isReal || reallyInside(workspace, full, context) || reallyInside('/tmp', full, context)
      ? 'workspace'
      : 'outside'
  }
  if (TEMPORARY.test(full)) return 'temporary'
  return SYSTEM.test(full) && !isWithin(context.home, full) ? 'system' : 'outside'
}

/** True if the path is certainly in the workspace, symlinks resolved. */
export const isInWorkspace = (full: string, context: ShellContext): boolean => {
  const workspace = context.workspace ?? context.cwd
  return isWithin(workspace, full)
    ? hasUnknown(full) || /[*?[]/.test(full) || reallyInside(workspace, full, context)
    : !hasUnknown(full) && reallyInside(workspace, full, context)
}

/** Parts of arguments that may be paths: option values, `@file`, `a:b`. */
export const pathsIn = (words: readonly string[]): string[] =>
  words.flatMap(word => {
    if (word.length > 4_096) return []
    const value = /^(?:--?[\w-]+=|[\w.-]+=@?|@|-[a-zA-Z](?=[/~.]))([\s\S]+)$/.exec(word)?.[1]
    const parts = /^[^:]+:[^:]/.test(word) && !/^\w+:\/\//.test(word) ? word.split(':') : []
    return [word, ...(value === undefined ? [] : [value]), ...parts]
  })

/** The control file that this word could name or contain, or undefined. */
export const controlIn = (
  path: string,
  cwd: string | null,
  given: ShellContext,
): string | undefined => {
  if (!given.controlPaths?.length) return undefined
  const { disk = createDisk() } = given
  const context = { ...given, disk, controlPaths: given.controlPaths }
  const full = absolute(path, cwd, context)
  if (full === null) return undefined
  const glob = /[*?[\0\u0001]/.test(full) ? full.replace(/[\0\u0001]+/g, '*') : null
  const pattern = glob === null ? null : globRegex(glob)
  const found = context.controlPaths.find(control =>
    control.includes('/**/')
      ? belowPattern(control, full)
      : pattern
        ? prefixesOf(control).some(each => pattern.test(each))
        : isWithin(control, full) || (!hasUnknown(full) && reallyInside(control, full, context)),
  )
  if (found !== undefined) return found
  for (const each of glob === null ? [full] : matching(glob, pattern)) {
    const held = disk.free.has(each) ? undefined : heldBy(each, context.controlPaths, disk)
    if (held !== undefined) return held
    disk.free.add(each)
  }
  return undefined
}

const MAX_NAMES = 2_000

/** Files that match a glob in the last part of a path. */
const matching = (glob: string, pattern: RegExp | null): string[] => {
  const dir = glob.slice(0, glob.lastIndexOf('/')) || '/'
  if (pattern === null || /[*?[]/.test(dir)) return []
  try {
    return readdirSync(dir)
      .slice(0, MAX_NAMES)
      .map(name => `${dir === '/' ? '' : dir}/${name}`)
      .filter(path => pattern.test(path))
  } catch {
    // The folder doesn't exist, so nothing matches.
    return []
  }
}

/** The control file behind this path, by a symlink or a hard link. */
const heldBy = (full: string, control: readonly string[], disk: Disk): string | undefined => {
  const real = disk.realPath(full)
  return (
    control.find(path => {
      const [root = '', name] = path.split('/**/')
      return name === undefined
        ? real !== full && isWithin(disk.realPath(path), real)
        : belowPattern(`${disk.realPath(root)}/**/${name}`, real)
    }) ?? disk.findHardLink(control, real)
  )
}

/** Two stars between a root and a name: everything in a folder of that name below the root. */
const belowPattern = (control: string, full: string): boolean => {
  const [root = '', name = ''] = control.split('/**/')
  return isWithin(root, full) && full.split('/').includes(name)
}

const prefixesOf = (path: string): string[] => {
  const parts = path.split('/')
  return parts.map((_, at) => parts.slice(0, at + 1).join('/')).filter(each => each !== '')
}

/** Control files in a folder that a command changes as a whole. */
export const controlBelow = (
  path: string,
  cwd: string | null,
  context: ShellContext,
): string | undefined => {
  const full = absolute(path, cwd, context)
  if (full === null || !context.controlPaths?.length) return undefined
  return context.controlPaths.find(control => isWithin(full, control.split('/**/')[0] ?? control))
}
