"""The inventory of a run: all artifacts that it keeps, and that chapters may open."""

from __future__ import annotations

from locus.experiment.any_radio import AnyRadio
from locus.experiment.artifact import Artifact
from locus.experiment.floors import Floors
from locus.experiment.iq_baselines import IqBaselines
from locus.experiment.mapped import Mapped
from locus.experiment.moved import MovedTransmitters
from locus.experiment.nats import Nats
from locus.experiment.other_twin import OtherTwin
from locus.experiment.path_set_fit import PathSetFit
from locus.experiment.reachable import Reachable
from locus.experiment.rows import EVALUATIONS, Rows
from locus.experiment.run import Run
from locus.experiment.searches import Searches
from locus.experiment.seeds import Seeds
from locus.experiment.table import Table
from locus.experiment.temperature import Temperature
from locus.experiment.unknown_phases import UnknownPhases
from locus.experiment.walk import Walks
from locus.experiment.weights import Weights, further_weights
from locus.experiment.witness import Witness
from locus.experiment.wrong_twin import Robustness
from locus.score import weight_files


def kept(run: Run) -> list[Artifact]:
    """Weights and results, in the order in which they are made."""
    weights = [Weights(run, method) for method in weight_files.METHODS]
    rows = [Rows(run, split) for split in dict.fromkeys(EVALUATIONS.values())]
    beyond = [OtherTwin(run), IqBaselines(run), UnknownPhases(run), Nats(run), MovedTransmitters(run), AnyRadio(run)]
    wrong = [Floors(run), Robustness(run), Reachable(run)]
    walks = [Walks(run), Searches(run), Mapped(run)]
    again = further_weights(run)
    seeds = [*again.values(), Seeds(run)] if again else []
    fitted = [*weights, Weights(run, "locus_dt", robust=True), Temperature(run), PathSetFit(run)]
    return [*fitted, *rows, *seeds, Table(run), *beyond, *wrong, *walks, Witness(run)]
