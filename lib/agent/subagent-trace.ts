/** Trace of a subagent's tool calls, bounded so that it fits into the delegating call's result. */
import type { HookActivity } from '../schema/hook.ts'
import type { AgentEvent, TraceEntry } from './types.ts'

const MAX_ENTRIES = 60
const PREVIEW_CHARS = 120

export const createTrace = () => {
  const roots: TraceEntry[] = []
  const byCall = new Map<string, TraceEntry>()
  const hooks: HookActivity[] = []
  let count = 0

  const begin = (event: Extract<AgentEvent, { type: 'tool' }>): void => {
    if (++count > MAX_ENTRIES) return
    const { callId, name, preview, owner: ref } = event
    const entry: TraceEntry = {
      tool: name,
      preview: (preview ?? '').replace(/\s+/g, ' ').slice(0, PREVIEW_CHARS),
      status: 'unfinished',
      duration_seconds: 0,
      ...(ref && { task_index: ref.index }),
    }
    byCall.set(callId, entry)
    const owner = ref && byCall.get(ref.parent)
    if (owner) {
      owner.trace ??= []
      owner.trace.push(entry)
    } else roots.push(entry)
  }

  return {
    apply(event: AgentEvent): void {
      if (event.type === 'tool') begin(event)
      if (event.type !== 'tool_complete') return
      // Of calls of nested subagents, the delegating call has them.
      if (!event.owner) hooks.push(...(event.hooks ?? []).slice(0, MAX_ENTRIES - hooks.length))
      const entry = byCall.get(event.callId)
      if (!entry) return
      entry.status = event.isError ? 'error' : 'ok'
      entry.duration_seconds = Math.round(event.durationMs / 100) / 10
    },
    entries: (): TraceEntry[] => roots,
    /** What hooks did about the calls. */
    hooks: (): HookActivity[] => hooks,
    /** Calls beyond the limit. */
    omitted: (): number => Math.max(0, count - MAX_ENTRIES),
  }
}
