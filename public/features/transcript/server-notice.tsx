/** A line of the server in the transcript, such as a switch to another model. Loaded with the first one. */
import type { Coded } from '../../../lib/base/sentences.ts'
import { Icon } from '../../parts/icon.tsx'
import { serverText } from '../../strings/server-text.ts'

export const ServerNotice = ({ text, coded }: { text: string; coded?: Coded | undefined }) => (
  <p class="tx-mark">
    {/* Without a code it is English in every language. */}
    <Icon name="info" size={14} />{' '}
    <span dir={coded ? undefined : 'auto'}>{serverText(text, coded)}</span>
  </p>
)
