/** Links that work now, with a button to revoke each. */
import type { Api } from '../../../router.ts'
import { formatFull } from '../../parts/relative-time.ts'
import { Button } from '../../parts/button.tsx'
import { Row } from '../../parts/field.tsx'
import { t } from './strings.ts'

export type Links = Api['GET /api/shares']['output']
export type Link = Links['shares'][number]

const kindOf = ({ live, tool_output, pictures }: Link): string =>
  [
    t(live ? 'share.link.live' : 'share.link.snapshot'),
    tool_output ? t('share.link.output') : '',
    pictures ? t('share.link.pictures') : '',
  ]
    .filter(Boolean)
    .join(' · ')

const hintOf = (link: Link): string =>
  [
    t('share.link.created', { time: formatFull(link.created_at) }),
    t('share.link.expires', { time: formatFull(link.expires_at) }),
    link.opened_at === null
      ? t('share.link.unopened')
      : t('share.link.opened', { time: formatFull(link.opened_at) }),
  ].join(' · ')

export type ShareListProps = {
  links: readonly Link[]
  /** Names the chat of each link. */
  titled?: boolean
  onRevoke: (link: Link) => void
}

export const ShareList = ({ links, titled, onRevoke }: ShareListProps) => (
  <>
    {links.toReversed().map(link => (
      <Row
        key={link.id}
        label={titled ? `${link.title} · ${kindOf(link)}` : kindOf(link)}
        hint={hintOf(link)}
        control={ids => (
          <Button
            id={ids.control}
            kind="danger"
            aria-label={t('share.revoke.what', { time: formatFull(link.created_at) })}
            onClick={() => onRevoke(link)}
          >
            {t('share.revoke')}
          </Button>
        )}
      />
    ))}
  </>
)
