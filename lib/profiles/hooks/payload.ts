/** The JSON a hook gets on stdin, and its reading of our arguments: both formats at once, since their names do not collide. */
import { commonToolNames } from '../../base/common-tool-names.ts'
import type { JsonObject } from '../../base/json.ts'
import type { HookedCall } from '../../agent/hooks.ts'
import type { Hook } from './config.ts'

export type HookPlace = {
  sessionId: string
  cwd: string
  profile: string
  model: string
}

/** `extra` is the host agent's place for what belongs to one event. */
export const toPayload = (
  { name }: Hook,
  { sessionId, cwd, profile, model }: HookPlace,
  fields: JsonObject,
  extra: JsonObject = {},
): string =>
  JSON.stringify({
    hook_event_name: name,
    tool_name: null,
    tool_input: null,
    session_id: sessionId,
    cwd,
    profile,
    model,
    ...fields,
    extra: { platform: 'webui', model, ...extra },
  })

/** Other agents call this argument of their file tools so; ours is `path`. */
const COMMON_PATH = 'file_path'

/** Whether an event of the common format names this tool as other agents do. */
const hasCommonName = ({ dialect }: Hook, { tool }: HookedCall): boolean =>
  dialect === 'common' && commonToolNames(tool).length > 0

/** All names of a tool that a matcher may use. */
export const namesOf = ({ tool }: HookedCall): string[] => [tool.name, ...commonToolNames(tool)]

export const callFields = (hook: Hook, call: HookedCall): JsonObject => {
  const { tool, input, callId } = call
  const isCommon = hasCommonName(hook, call)
  const path = isCommon && typeof input.path === 'string' ? { [COMMON_PATH]: input.path } : {}
  return {
    tool_name: isCommon ? commonToolNames(tool)[0] : tool.name,
    tool_input: { ...input, ...path },
    tool_use_id: callId,
  }
}

/** The arguments a hook wants, in our names: those it gave, or those it gave over the present ones. */
export const changedInput = (
  hook: Hook,
  { input, ...call }: HookedCall,
  { values, isWhole }: { values: JsonObject; isWhole: boolean },
): JsonObject => {
  const { [COMMON_PATH]: path, ...own } = values
  const isRenamed = path !== undefined && hasCommonName(hook, { ...call, input })
  const isOwnChanged = own.path !== undefined && own.path !== input.path
  const next = isRenamed ? { ...own, path: isOwnChanged ? own.path : path } : values
  return isWhole ? next : { ...input, ...next }
}
