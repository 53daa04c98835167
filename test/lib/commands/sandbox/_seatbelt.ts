/** Reads Seatbelt profiles, and decides by them what a program may do, as documented: the last rule that matches wins. */

export type Expression = string | { text: string } | { regex: string } | Expression[]

class ProfileError extends Error {}

/** Strict: quoted texts may contain only what needs no escaping. */
export const parseProfile = (text: string): Expression[] => {
  const token = /\s+|;[^\n]*|([()])|#"([^"\\]*)"|"([^"\\\n]*)"|([^\s()"#;]+)/y
  const open: Expression[][] = [[]]
  while (token.lastIndex < text.length) {
    const at = token.lastIndex
    const found = token.exec(text)
    if (!found) throw new ProfileError(`unreadable at ${at}: ${text.slice(at, at + 30)}`)
    const [, bracket, regex, quoted, word] = found
    const top = open.at(-1) ?? []
    if (bracket === '(') {
      const list: Expression[] = []
      top.push(list)
      open.push(list)
    } else if (bracket === ')') {
      if (open.length === 1) throw new ProfileError('unbalanced: ) too many')
      open.pop()
    } else if (regex !== undefined) top.push({ regex })
    else if (quoted !== undefined) top.push({ text: quoted })
    else if (word !== undefined) top.push(word)
  }
  if (open.length !== 1) throw new ProfileError('unbalanced: ) missing')
  return open[0] ?? []
}

export type SandboxExecCall = {
  profile: string
  parameters: Map<string, string>
  program: string[]
}

/** The command line of sandbox-exec: `-p profile [-D name=value …] -- program …`. */
export const parseCall = (args: readonly string[]): SandboxExecCall => {
  const parameters = new Map<string, string>()
  let profile: string | null = null
  let at = 0
  for (; args[at] !== '--'; at += 2) {
    const [flag, value] = [args[at], args[at + 1]]
    if (value === undefined) throw new ProfileError('usage')
    if (flag === '-p' && profile === null) profile = value
    else if (flag === '-D' && value.indexOf('=') > 0) {
      const [name, rest] = [value.slice(0, value.indexOf('=')), value.slice(value.indexOf('=') + 1)]
      if (parameters.has(name)) throw new ProfileError(`${name} is given twice`)
      parameters.set(name, rest)
    } else throw new ProfileError(`unknown argument: ${flag}`)
  }
  if (profile === null) throw new ProfileError('no profile')
  return { profile, parameters, program: args.slice(at + 1) }
}

/** What a program wants to do. `path`: of a file or a socket, the real one; `ip`: an address with its port, as profiles name it. */
export type Attempt = { operation: string; path?: string; name?: string; ip?: string }

const OPERATIONS =
  /^(?:default|process-(?:exec|fork|info\*)|signal|sysctl-read|mach-(?:host\*|lookup)|user-preference-read|iokit-open|ipc-posix-(?:sem|shm-read\*)|pseudo-tty|system-socket|network-(?:outbound|inbound|bind)|file-(?:read\*|read-data|read-metadata|test-existence|map-executable|write\*|write-data|write-unlink|ioctl))$/

const isMatch = (operation: string, wanted: string): boolean =>
  operation === 'default' ||
  (operation.endsWith('*') ? wanted.startsWith(operation.slice(0, -1)) : operation === wanted)

export const createPolicy = ({
  profile,
  parameters,
}: Pick<SandboxExecCall, 'profile' | 'parameters'>) => {
  const [version, ...rules] = parseProfile(profile)
  if (JSON.stringify(version) !== '["version","1"]') throw new ProfileError('no version')

  const textOf = (value: Expression | undefined): string => {
    if (Array.isArray(value) && value[0] === 'param' && value.length === 2) {
      const found = parameters.get(textOf(value[1]))
      if (found === undefined) throw new ProfileError(`unknown parameter ${textOf(value[1])}`)
      return found
    }
    if (typeof value === 'object' && 'text' in value) return value.text
    throw new ProfileError(`not a text: ${JSON.stringify(value)}`)
  }

  const matches = (filter: Expression, attempt: Attempt): boolean => {
    if (!Array.isArray(filter)) throw new ProfileError(`not a filter: ${JSON.stringify(filter)}`)
    const [kind, first, second] = filter
    const { path, name } = attempt
    switch (kind) {
      case 'literal':
        return path === textOf(first)
      case 'subpath': {
        const root = textOf(first)
        if (!root.startsWith('/') || (root !== '/' && root.endsWith('/')))
          throw new ProfileError(`not an absolute path: ${root}`)
        return path === root || path?.startsWith(root === '/' ? '/' : `${root}/`) === true
      }
      case 'regex':
        if (typeof first !== 'object' || !('regex' in first)) throw new ProfileError('regex')
        return path !== undefined && new RegExp(first.regex).test(path)
      case 'require-all':
        return filter.slice(1).every(each => matches(each, attempt))
      case 'remote':
      case 'local':
        if (first === 'ip') {
          const address = textOf(second)
          // Other addresses are not possible in a profile.
          if (!/^(?:\*|localhost):(?:\*|\d+)$/.test(address)) throw new ProfileError(address)
          return attempt.ip !== undefined && ['*:*', attempt.ip].includes(address)
        }
        if (first === 'unix-socket' && second !== undefined) return matches(second, attempt)
        throw new ProfileError(`unknown address: ${JSON.stringify(filter)}`)
      case 'global-name':
      case 'ipc-posix-name':
        return name === textOf(first)
      case 'ipc-posix-name-prefix':
        return name?.startsWith(textOf(first)) === true
      // Given by the system to new terminals.
      case 'extension':
        return textOf(first) === name
      case 'target':
        return first === name
      case 'socket-domain':
        return first === name
      case 'iokit-registry-entry-class':
        return textOf(first) === name
      default:
        throw new ProfileError(`unknown filter: ${JSON.stringify(kind)}`)
    }
  }

  const read = rules.map(rule => {
    if (!Array.isArray(rule)) throw new ProfileError(`not a rule: ${JSON.stringify(rule)}`)
    const [verdict, ...rest] = rule
    if (verdict !== 'allow' && verdict !== 'deny') throw new ProfileError(`not a rule: ${verdict}`)
    const isOperation = (each: Expression) => typeof each === 'string'
    const operations = rest.filter(isOperation)
    if (operations.length === 0) throw new ProfileError('a rule without an operation')
    for (const each of operations)
      if (!OPERATIONS.test(String(each))) throw new ProfileError(`unbound variable: ${each}`)
    return {
      allows: verdict === 'allow',
      operations: operations.map(String),
      filters: rest.filter(each => !isOperation(each)),
    }
  })
  // Every filter is read, also those of operations that are never tried.
  for (const { filters } of read) for (const each of filters) matches(each, { operation: '' })

  return {
    allows: (attempt: Attempt): boolean =>
      read.findLast(
        ({ operations, filters }) =>
          operations.some(each => isMatch(each, attempt.operation)) &&
          (filters.length === 0 || filters.some(each => matches(each, attempt))),
      )?.allows === true,
  }
}
