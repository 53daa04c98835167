/** What a running turn does now. */
import { describeToolCall } from '../tool-calls/describe-tool-call.ts'
import { ToolPhrase } from '../tool-calls/tool-phrase.tsx'
import type { RunningTurn } from './inbox-state.ts'
import { t } from './strings.ts'

export const Doing = ({ doing }: Pick<RunningTurn, 'doing'>) => {
  if (doing.kind !== 'tool')
    return (
      <span class={doing.kind === 'waiting' ? 'inbox-needed' : ''}>
        {t(`running.${doing.kind}`)}
      </span>
    )
  const { does, object, code } = describeToolCall(doing.name, doing.args)
  return (
    <>
      <ToolPhrase phrase={does} object={object} code={code} />
      {doing.more > 0 && <span> + {t('running.more', { count: doing.more })}</span>}
    </>
  )
}
