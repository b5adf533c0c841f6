# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The callbacks for Lightning and transformers, with the real libraries where they are installed."""

from __future__ import annotations

import importlib
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import pytest
import stepleak
import torch
from torch import nn


class Numbers(torch.utils.data.Dataset[Any]):
    def __len__(self) -> int:
        return 480

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"x": torch.full((4,), index / 480), "labels": torch.ones(1)}


class Model(nn.Module):
    """Keeps its losses, or their numbers."""

    def __init__(self, *, is_leaking: bool) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)
        self.is_leaking = is_leaking
        self.losses_of_the_trainer: list[Any] = []

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        loss = nn.functional.mse_loss(self.layer(x), labels)
        self.losses_of_the_trainer.append(loss if self.is_leaking else loss.item())
        return {"loss": loss}


def train_with_transformers(model: Model, folder: Path, **options: Any) -> stepleak.Result:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    from stepleak.transformers import LeakCallback

    arguments = transformers.TrainingArguments(
        output_dir=str(folder), per_device_train_batch_size=4, report_to=[], save_strategy="no", use_cpu=True,
        disable_tqdm=True,
    )  # fmt: skip
    callback = LeakCallback(effort="quick", stop=True, **options)
    transformers.Trainer(model=model, args=arguments, train_dataset=Numbers(), callbacks=[callback]).train()
    assert callback.result is not None
    return callback.result


def test_a_training_that_raises_has_a_result_and_leaves_room_for_the_next(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    from stepleak.transformers import LeakCallback

    class Broken(Model):
        def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
            if self.losses_of_the_trainer:
                raise ValueError("mine")
            return super().forward(x, labels)

    def begin(callback: LeakCallback, model: Model) -> None:
        arguments = transformers.TrainingArguments(
            output_dir=str(tmp_path), per_device_train_batch_size=4, report_to=[], save_strategy="no", use_cpu=True,
            disable_tqdm=True,
        )  # fmt: skip
        transformers.Trainer(model=model, args=arguments, train_dataset=Numbers(), callbacks=[callback]).train()

    asked, left = LeakCallback(effort="quick"), LeakCallback(effort="quick")
    with pytest.raises(ValueError, match="mine"):
        begin(asked, Broken(is_leaking=False))
    assert asked.result is not None
    assert asked.result.verdict == "failure", asked.result.report
    assert "the training raised" in asked.result.report
    with pytest.raises(ValueError, match="mine"):
        begin(left, Broken(is_leaking=False))
    assert stepleak.check(lambda: None, effort="quick").is_clean, "what nobody asked for made no room"
    assert left.result is not None
    assert left.result.verdict == "failure"
    begin(asked, Model(is_leaking=False))
    assert asked.result.is_clean, asked.result.report


def train_with_lightning(model: Model, folder: Path, **options: Any) -> stepleak.Result:
    pl = pytest.importorskip("lightning.pytorch")
    from stepleak.lightning import LeakCallback

    class Module(pl.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.inner = model

        def training_step(self, batch: Any, _: int) -> Any:
            return self.inner(**batch)["loss"]

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    callback = LeakCallback(effort="quick", stop=True, **options)
    trainer = pl.Trainer(
        accelerator="cpu", max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, default_root_dir=folder, callbacks=[callback],
    )  # fmt: skip
    trainer.fit(Module(), torch.utils.data.DataLoader(Numbers(), batch_size=4))
    assert callback.result is not None
    return callback.result


TRAINERS = [train_with_transformers, train_with_lightning]


@pytest.mark.parametrize("train", TRAINERS)
def test_names_the_leak_in_a_trainers_loop(train: Any, tmp_path: Path) -> None:
    found: list[stepleak.Result] = []
    model = Model(is_leaking=True)  # held for longer than the training: what is made for one call ends with it
    result = train(model, tmp_path, on_leak=found.append)
    assert result.verdict == "leak", result.report
    assert "losses_of_the_trainer" in result.findings[0]["holder"], result.report
    assert found == [result]
    assert result.steps < 100, "it was to be stopped"


@pytest.mark.parametrize("train", TRAINERS)
def test_a_healthy_trainer_is_clean(train: Any, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", stepleak.LeakWarning)
        result = train(Model(is_leaking=False), tmp_path)
    assert result.is_clean, result.report
    assert result.json["marks"] == [{"step": 1, "type": "epoch"}]


@pytest.mark.parametrize(
    ("name", "library", "base"),
    [("lightning", "lightning.pytorch", "Callback"), ("transformers", "transformers", "TrainerCallback")],
)
def test_wrong_options_are_told_where_the_callback_is_made(
    name: str, library: str, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in {library, library.partition(".")[0]}:
        monkeypatch.setitem(sys.modules, module, types.SimpleNamespace(**{base: type(base, (), {})}))
    monkeypatch.delitem(sys.modules, f"stepleak.{name}", raising=False)
    callback = importlib.import_module(f"stepleak.{name}").LeakCallback
    monkeypatch.delitem(sys.modules, f"stepleak.{name}")
    with pytest.raises(TypeError, match=r"LeakCallback\(\) got .* 'stepz'\. Did you mean 'steps'"):
        callback(stepz=3)
    for wrong in ({"on_leak": "x"}, {"effort": "x"}, {"json": 3}, {"name": 3}):
        with pytest.raises(stepleak.UsageError):
            callback(**wrong)
    assert callback(stop=True, name="mine", on_leak=print, effort="quick", steps=40).result is None
