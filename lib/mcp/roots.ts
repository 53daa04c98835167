/** The workspaces of the turns that use a server (MCP roots): added with a turn's first call, removed when the turn ends. */
import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'

/** `onChange` is called when the list differs from the last one. */
export const createRoots = (onChange: () => void) => {
  const byTurn = new Map<AbortSignal, string>()
  let shown = '[]'
  const workspaces = (): string[] => [...new Set(byTurn.values())].toSorted()
  const announce = (): boolean => {
    const now = JSON.stringify(workspaces())
    if (now === shown) return false
    shown = now
    onChange()
    return true
  }
  return {
    /** `turn` is aborted when the turn ends. True when the list has changed. */
    add(workspace: string, turn: AbortSignal): boolean {
      if (byTurn.has(turn) || turn.aborted) return false
      byTurn.set(turn, workspace)
      turn.addEventListener(
        'abort',
        () => {
          byTurn.delete(turn)
          announce()
        },
        { once: true },
      )
      return announce()
    },
    list: () => ({
      roots: workspaces().map(path => ({ uri: pathToFileURL(path).href, name: basename(path) })),
    }),
  }
}
