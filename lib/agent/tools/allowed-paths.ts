/** Path rules of the file tools: resolves paths, denies secrets and system files. */
import { diffToApprove } from './edit-diff.ts'
import { join, relative, resolve, sep } from 'node:path'
import { isBelow, isInside, realPath, realPaths } from '../../store/path-within.ts'
import { statIfExists } from '../hard-links.ts'
import { Refusal } from '../../base/refusal.ts'
import { deniedPath } from '../permissions/denied-path.ts'
import { reasonFields, stakesOf } from '../reasons.ts'
import { CONTROL, OUTSIDE, PROTECTED, UNSEEN } from '../shell/labels.ts'
import type { ApprovalRequest } from '../tool-services.ts'
import type { PathScope, ReadScope, ToolContext, TurnServices } from '../types.ts'
import { existingPath } from './look-alike.ts'
import { isControlled, isCredential, isRunByOthers } from './protected-paths.ts'

/** In the home directory: login scripts. Reads only. */
const STARTUP =
  /^\.(?:bash(?:rc|_profile|_login|_logout|_aliases)|profile|z(?:shrc|shenv|profile|login|logout)|config\/(?:fish|systemd|autostart)(?:\/.*)?)$/
/** Anywhere: no reads. A process's environment contains every key it was started with. */
const SYSTEM_SECRET =
  /^\/(?:private\/)?etc\/(?:shadow|gshadow|sudoers)|^\/proc\/(?:[^/]+\/)+(?:environ|mem|cwd|root|fd)(?:\/|$)|^\/(?:var\/)?run\/docker\.sock$/
/** Anywhere: no writes by the file tools. `/dev/shm` is an ordinary directory in memory. */
const SYSTEM =
  /^\/(?:private\/)?(?:etc|boot|proc|sys|dev(?!\/shm\/))(?:\/|$)|^\/(?:usr\/)?lib\/systemd(?:\/|$)|^\/(?:var\/)?run\/(?:docker\.sock|systemd)/

/** Resolves a path from the model: expands `~` and relative paths, finds names that look the same, follows symlinks. */
export const resolvePath = (ctx: PathScope, path: string): string => {
  if (path.includes('\0')) throw new Error('The path contains a NUL character.')
  const home = ctx.env.HOME ?? ''
  const expanded = /^~(?:\/|$)/.test(path) && home !== '' ? join(home, path.slice(1)) : path
  const full = resolve(ctx.workspace, expanded)
  return realPath(existingPath(ctx.runner?.hostPath(full) ?? full))
}

/** The path as shown to the model: relative inside the workspace, absolute elsewhere. */
export const displayPath = ({ workspace }: PathScope, fullPath: string): string => {
  const root = realPath(workspace)
  if (fullPath === root) return '.'
  return fullPath.startsWith(root.endsWith(sep) ? root : root + sep)
    ? relative(root, fullPath)
    : fullPath
}

/** Of those files that have more than one name. */
const linkedInodes = (paths: readonly string[]): Set<string> =>
  new Set(
    paths.flatMap(path => {
      const inode = inodeOf(path)
      return inode && inode.links > 1 ? inode.key : []
    }),
  )

/** Compiles the guards once per search instead of once per file. Takes real paths. */
const readGuard = (ctx: ReadScope): ((fullPath: string) => boolean) => {
  const home = ctx.env.HOME ?? ''
  const forbidden = realPaths(ctx.forbidden)
  const readable = realPaths(ctx.readable ?? [])
  let inodes: ReadonlySet<string> | undefined
  let isFirst = true
  const isLinked = (fullPath: string): boolean => {
    // A file with one name has no other one to be reached by. The first file is checked by its own link count; from the second on, the forbidden inodes are collected once.
    if (isFirst) {
      isFirst = false
      if ((inodeOf(fullPath)?.links ?? 0) < 2) return false
    }
    inodes ??= linkedInodes(forbidden)
    if (inodes.size === 0) return false
    const inode = inodeOf(fullPath)
    return inode !== null && inode.links > 1 && inodes.has(inode.key)
  }
  const isIn = (paths: string[], fullPath: string) => paths.some(path => isBelow(path, fullPath))
  return fullPath =>
    SYSTEM_SECRET.test(fullPath) ||
    (isIn(forbidden, fullPath) && !isIn(readable, fullPath)) ||
    isLinked(fullPath) ||
    isCredential(home, fullPath)
}

/**
 * Files that must not show unless they are asked for by name: forbidden ones, and those that rules deny or ask about. `root`: the
 * directory that was asked for and approved.
 */
export const hiddenGuard = (ctx: ReadScope, root?: string): ((fullPath: string) => boolean) => {
  const isForbidden = readGuard(ctx)
  const isHidden = ctx.rules?.hides(root)
  return isHidden ? path => isForbidden(path) || isHidden(path) : isForbidden
}

/** Throws if reading is denied. */
export const guardRead = (ctx: PathScope, fullPath: string): void => {
  if (readGuard(ctx)(fullPath))
    throw new Refusal(
      'checks',
      `Access to ${fullPath} is denied: it may hold secrets or the state of this service.`,
    )
  const denial = deniedPath(ctx.rules, 'read', fullPath)
  if (denial !== null) throw new Refusal('rule', denial)
}

/** Throws if writing is denied. */
export const guardWrite = (turn: TurnServices, fullPath: string): void => {
  guardRead({ ...turn, readable: [], rules: undefined }, fullPath)
  const denial = deniedPath(turn.rules, 'write', fullPath)
  if (denial !== null) throw new Refusal('rule', denial)
  const home = turn.env.HOME ? realPath(turn.env.HOME) : ''
  if (SYSTEM.test(fullPath) || STARTUP.test(home === '' ? '' : relative(home, fullPath)))
    throw new Refusal(
      'checks',
      `Writing to ${fullPath} is denied: it is a protected file of the system or the user.`,
    )
  const guardDenial = turn.guards?.write(fullPath) ?? null
  if (guardDenial !== null) throw new Refusal('rule', guardDenial)
  const real = realPath(fullPath)
  const isServiceState = realPaths(turn.forbidden).some(path => isBelow(real, path))
  if (isServiceState)
    throw new Refusal(
      'checks',
      `Writing to ${fullPath} is denied: it would replace the state of this service.`,
    )
}

/** Control files need approval each time, so only "once" and "deny" are offered. */
export const CONTROL_APPROVAL = { isControl: true, choices: ['once', 'deny'] } as const

const inodeOf = (path: string): { key: string; links: number } | null => {
  const stat = statIfExists(path)
  return stat?.isFile() ? { key: `${stat.dev}:${stat.ino}`, links: stat.nlink } : null
}

/** Asks for approval before control files are changed. True if all are approved. */
export const mayControl = async (
  ctx: ToolContext,
  fullPaths: string[],
  verb: string,
  diff: EditDiff = () => '',
): Promise<boolean> => {
  const controlled = fullPaths.filter(fullPath => isControlled(ctx.turn, fullPath))
  if (controlled.length === 0) return true
  const choice = await ctx.approve({
    command: `${verb} ${controlled.join(' ')}`,
    patternKeys: [CONTROL],
    ...reasonFields(...stakesOf([CONTROL])),
    cwd: ctx.turn.workspace,
    ...shownDiff(diff(controlled)),
    ...CONTROL_APPROVAL,
  })
  return choice !== 'deny'
}

/** The change of these files as a unified diff, to be shown for approval; empty: unknown. */
export type EditDiff = (fullPaths: readonly string[]) => string

const shownDiff = (diff: string): { diff?: string } =>
  diff === '' ? {} : { diff: diffToApprove(diff) }

/** Asks for approval before a file outside the workspace and the temporary directory is changed. True if approved. */
export const mayWrite = async (
  ctx: ToolContext,
  fullPaths: string[],
  verb: string,
  diff: EditDiff = () => '',
): Promise<boolean> => {
  if (!(await mayControl(ctx, fullPaths, verb, diff))) return false
  const outside = fullPaths.filter(
    fullPath =>
      !isControlled(ctx.turn, fullPath) &&
      !isInside(ctx.turn.workspace, fullPath) &&
      !isInside('/tmp', fullPath),
  )
  const protectedPaths = fullPaths.filter(
    fullPath =>
      isInside(ctx.turn.workspace, fullPath) &&
      ((ctx.turn.runner?.reach?.(fullPath) ?? 'write') !== 'write' ||
        isRunByOthers(relative(realPath(ctx.turn.workspace), fullPath))),
  )
  const labels = [
    outside.length > 0 ? OUTSIDE : [],
    protectedPaths.length > 0 ? PROTECTED : [],
  ].flat()
  const paths = [...outside, ...protectedPaths]
  if (labels.length === 0) return true
  const change = diff(paths)
  return askAbout(ctx, `${verb} ${paths.join(' ')}`, labels, {
    ...shownDiff(change),
    whole: change,
    any: { of: 'changes', name: paths.join(' '), key: `change ${JSON.stringify(paths)}` },
  })
}

/** Asks for approval before a file tool shows what commands in the sandbox cannot see. True if approved. */
export const mayRead = async (ctx: ToolContext, fullPath: string, verb: string): Promise<boolean> =>
  ctx.turn.runner?.reach === undefined ||
  ctx.turn.runner.reach(fullPath) !== null ||
  askAbout(ctx, `${verb} ${fullPath}`, [UNSEEN])

const askAbout = async (
  ctx: ToolContext,
  command: string,
  patternKeys: string[],
  change: Partial<ApprovalRequest> = {},
): Promise<boolean> => {
  const choice = await ctx.approve({
    command,
    patternKeys,
    ...reasonFields(...stakesOf(patternKeys)),
    cwd: ctx.turn.workspace,
    ...change,
  })
  return choice !== 'deny'
}
