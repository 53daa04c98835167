/** A settings row with its save status. */
import { Row, type RowProps } from '../../parts/field.tsx'
import { t } from './strings.ts'
import { useSettings } from '../../contexts.ts'

export type SavedRowProps = Omit<RowProps, 'status' | 'failed'> & { name: string }

export const SavedRow = ({ name, ...rest }: SavedRowProps) => {
  const mark = useSettings().saveStatus.value[name]
  return <Row {...rest} status={mark && t(`settings.${mark}`)} failed={mark === 'failed'} />
}
