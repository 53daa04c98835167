/** The shell that a person's terminal runs, and its environment. */
import { userInfo } from 'node:os'
import { basename, isAbsolute } from 'node:path'
import { isProgram } from '../../base/find-program.ts'

export type PersonShell = {
  command: readonly [string, ...string[]]
  env: Readonly<Record<string, string>>
}

const isShell = (path: string | null | undefined): path is string =>
  path != null && isAbsolute(path) && isProgram(path)

/** That of the passwd entry; undefined for a user without one, as in some containers. */
const passwdShell = (): string | null | undefined => {
  try {
    return userInfo().shell
  } catch {
    return undefined
  }
}

/** Accounts of services have a shell that refuses to run. */
const isInteractive = (path: string): boolean => !/^(?:nologin|false)$/.test(basename(path))

/**
 * `env` has no secrets of the service. HOME is the person's own also where the commands of a profile get another one: this
 * is the person's terminal, with the person's logins.
 */
export const personShell = (
  env: Readonly<Record<string, string>>,
  userHome: string,
): PersonShell => {
  const wanted = [env.SHELL, passwdShell(), '/bin/bash'].filter(isShell)
  const shell = wanted.find(isInteractive) ?? '/bin/sh'
  const hasLocale = Boolean(env.LC_ALL || env.LC_CTYPE || env.LANG)
  return {
    // A login shell on macOS, where profile files set the search path and other terminals do the same.
    command: process.platform === 'darwin' ? [shell, '-i', '-l'] : [shell, '-i'],
    env: {
      ...env,
      // A service of the system has no locale, and without one no program prints more than ASCII.
      ...(hasLocale ? {} : { LANG: 'C.UTF-8' }),
      HOME: userHome,
      SHELL: shell,
      TERM: 'xterm-256color',
      COLORTERM: 'truecolor',
    },
  }
}
