/** The first page's sentence about where commands run in this workspace, what would put them into a sandbox, and where to choose what asks. */
import { visibleText } from '../../../lib/base/visible.ts'
import type { CommandsHere } from '../../../lib/schema/command-place.ts'
import { useShell } from '../../contexts.ts'
import { may } from '../../parts/may.ts'
import { joinSentences } from '../../strings/join-sentences.ts'
import { causeText } from '../../strings/server-text.ts'
import { t } from './strings.ts'

export const CommandsLine = ({ place, outside, problem, sentences }: CommandsHere) => {
  const { route } = useShell()
  return (
    <p class="home-commands">
      {joinSentences(
        t(`commands.${place === 'computer' ? outside : place}`),
        problem !== null && causeText(visibleText(problem), sentences?.problem),
      )}{' '}
      {place === 'computer' && may('POST /api/sandbox') && (
        <a href={route.hrefOf({ view: 'settings', section: 'permissions' })}>
          {t('commands.choose')}
        </a>
      )}
    </p>
  )
}
