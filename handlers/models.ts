/** Models on offer. */
import { endpoint } from '../lib/ctx.ts'
import { modelGroups } from '../lib/models/groups.ts'
import { ModelList } from '../lib/schema/model.ts'

export const list = endpoint({
  summary: 'Models by provider, with the active provider and the default model',
  output: ModelList,
  run: ctx => modelGroups(ctx.home, ctx.app.config),
})
