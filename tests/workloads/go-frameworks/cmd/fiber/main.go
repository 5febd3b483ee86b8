// SPDX-License-Identifier: Apache-2.0

// A shop on fiber 3: functions, closures, and one generic function for the resources that are alike.
package main

import (
	"log"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/logger"
	"github.com/gofiber/fiber/v3/middleware/recover"
	"github.com/gofiber/fiber/v3/middleware/requestid"

	"example.org/shop/internal/app"
	"example.org/shop/internal/report"
	"example.org/shop/internal/search"
	"example.org/shop/internal/store"
)

// create is the endpoint that stores one of something.
func create[T any](table *store.Table[*T]) fiber.Handler {
	return func(c fiber.Ctx) error {
		row := new(T)
		if err := c.Bind().Body(row); err != nil {
			return fiber.NewError(fiber.StatusBadRequest, err.Error())
		}
		return c.Status(fiber.StatusCreated).JSON(fiber.Map{"id": table.Put(row)})
	}
}

type catalogue struct {
	pictures store.Cache
	reviews  *search.Index
}

func (x *catalogue) picture(c fiber.Ctx) error {
	key := c.Params("id")
	data, found := x.pictures.Get(key)
	if !found {
		seed, _ := strconv.Atoi(key)
		data = report.Thumbnail(seed, 190)
		x.pictures.Put(string(append([]byte(nil), key...)), data) // fiber uses the memory of key again
	}
	return c.Send(data)
}

func (x *catalogue) review(c fiber.Ctx) error {
	var review store.Review
	if err := c.Bind().JSON(&review); err != nil {
		return err
	}
	return c.JSON(fiber.Map{"documents": x.reviews.Add(review.Text)})
}

var sessions *store.Sessions

func login(c fiber.Ctx) error {
	var login store.Login
	if err := c.Bind().JSON(&login); err != nil {
		return err
	}
	return c.JSON(fiber.Map{"token": sessions.Open(login.User)})
}

func authorized(c fiber.Ctx) error {
	if !app.Authorized(c.Get("Authorization")) {
		return c.SendStatus(fiber.StatusUnauthorized)
	}
	return c.Next()
}

func timed(c fiber.Ctx) error {
	start := time.Now()
	err := c.Next()
	c.Set("X-Took", time.Since(start).String())
	return err
}

func main() {
	createOrder := create(store.NewTable[*store.Order](app.Keep("POST /api/orders")))
	events := store.NewHistory[[]store.Event](app.Keep("POST /api/events"))
	shop := &catalogue{store.NewCache(app.Keep("GET /pictures/:id")), search.New(app.Keep("POST /api/reviews"))}
	sessions = store.NewSessions(app.Keep("POST /login"))
	uploads := store.NewHistory[[]byte](app.Keep("PUT /api/files/:name"))

	service := fiber.New()
	service.Use(requestid.New())
	service.Use(logger.New(logger.Config{Stream: discard{}}))
	service.Use(recover.New())
	service.Use(timed)
	service.Post("/login", login)
	service.Get("/pictures/:id", shop.picture)
	api := service.Group("/api", authorized)
	api.Post("/orders", createOrder)
	api.Post("/reviews", shop.review)
	collect := func(c fiber.Ctx) error {
		var batch []store.Event
		if err := c.Bind().Body(&batch); err != nil {
			return err
		}
		return c.JSON(events.Add(batch))
	}
	api.Post("/events", collect)
	upload := func(c fiber.Ctx) error {
		data := make([]byte, len(c.Body()))
		copy(data, c.Body())
		return c.JSON(uploads.Add(data))
	}
	api.Put("/files/:name", upload)

	listener, address := app.Listen()
	go func() { log.Fatal(service.Listener(listener, fiber.ListenConfig{DisableStartupMessage: true})) }()
	app.Run(address, []app.Call{
		{Endpoint: "POST /api/orders", Body: app.OrderBody(), Names: []any{createOrder}},
		{Endpoint: "POST /api/events", Body: app.EventsBody(), Names: []any{collect}},
		{Endpoint: "POST /login", Body: app.LoginBody(), Names: []any{login}},
		{Endpoint: "POST /api/reviews", Body: app.TextBody(), Names: []any{shop.review}},
		{Endpoint: "PUT /api/files/:name", Path: "/api/files/%d", Body: app.EventsBody(), Names: []any{upload}},
		{Endpoint: "GET /pictures/:id", Path: "/pictures/%d", Names: []any{shop.picture}},
	})
}

type discard struct{}

func (discard) Write(data []byte) (int, error) { return len(data), nil }
